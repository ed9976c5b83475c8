//! The program from outside: the binary, its standard output, its exit codes.

mod bad_input;
mod commands;
mod compare;
mod pictures;
mod support;
