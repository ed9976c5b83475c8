//! The simulator in a page of a browser. The page calls the functions of [`page`], which know plain numbers alone.

pub mod files;
pub mod page;
pub mod scene;
