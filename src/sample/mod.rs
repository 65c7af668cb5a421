//! `perf_event_open`: counters, rings, side-band records.
