//! Parses the command line, hands over to the library, and turns the outcome into an exit code.

fn main() -> std::process::ExitCode {
    perfblame::cli::main()
}
