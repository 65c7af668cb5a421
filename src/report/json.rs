//! `report.json`.

use super::CompareReport;

/// Renders the report as indented JSON with a final newline.
///
/// Numbers that JSON cannot hold (infinite, not a number) become `null`.
pub fn render(report: &CompareReport) -> String {
    let mut text =
        serde_json::to_string_pretty(report).expect("the report has no keys that are not strings");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::report;

    #[test]
    fn what_is_written_is_read_back() {
        let text = render(&report());
        let again: CompareReport = serde_json::from_str(&text).unwrap();
        assert_eq!(again, report());
    }

    #[test]
    fn keys_of_the_contract() {
        let value: serde_json::Value = serde_json::from_str(&render(&report())).unwrap();
        assert_eq!(value["schema"], "perfblame.compare/1");
        for key in [
            "/base/commit",
            "/base/subject_line",
            "/base/artifact_digest",
            "/head/trials",
            "/throughput/unit",
            "/throughput/base_mean",
            "/throughput/head_mean",
            "/throughput/change_pct",
            "/throughput/ci95_pct/1",
            "/throughput/p",
            "/throughput/verdict",
            "/throughput/welch/t",
            "/throughput/welch/df",
            "/throughput/welch/ci95/0",
            "/functions/0/name",
            "/functions/0/module",
            "/functions/0/status",
            "/functions/0/self/base_share_pct",
            "/functions/0/self/head_ns_per_op",
            "/functions/0/inclusive/change_pct",
            "/functions/0/inclusive/p_adjusted",
            "/functions/0/inclusive/verdict",
            "/samples/lost",
            "/event",
            "/machine",
            "/plan",
            "/seed",
        ] {
            assert!(value.pointer(key).is_some(), "{key}");
        }
    }
}
