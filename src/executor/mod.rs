//! Who starts a trial's process, and who makes sure that nothing stays behind.
