//! Where everything measured is kept: SQLite and blobs.
