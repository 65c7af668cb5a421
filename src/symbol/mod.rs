//! From addresses to names: DWARF, ELF symbols, kallsyms, perf maps; canonical names.
