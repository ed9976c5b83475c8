//! Holds the targets beside it; nothing to import.
