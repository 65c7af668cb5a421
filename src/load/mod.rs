//! The memtier-style load generator.
