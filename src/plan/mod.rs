//! What is to be done: plan types, presets, and checks that name the line and key at fault.
