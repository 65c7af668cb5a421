//! The commands of a load: SET and GET of the ratio, or those of the user's own.

use crate::plan::load::LoadSpec;

use super::program::{Form, Piece, memcache_set, resp_form, single};
use super::values::Values;
use super::{CommandTemplate, Expect, Role};

/// The commands of one round, each with the number of times that it is sent in a row.
pub(crate) fn templates(spec: &LoadSpec, values: &Values) -> Vec<(CommandTemplate, u32)> {
    if !spec.command.is_empty() {
        return spec
            .command_rounds()
            .map(|(command, ratio, _)| {
                // `LoadSpec::check` has split it already.
                let words = shell_words::split(command).unwrap_or_default();
                (CommandTemplate::own(words, spec, values), ratio)
            })
            .collect();
    }
    vec![
        (CommandTemplate::set(spec, values), spec.ratio.sets),
        (CommandTemplate::get(spec, values), spec.ratio.gets),
    ]
}

impl CommandTemplate {
    fn own(words: Vec<String>, spec: &LoadSpec, values: &Values) -> CommandTemplate {
        CommandTemplate {
            name: words.first().map(|w| w.to_uppercase()).unwrap_or_default(),
            role: Role::Other,
            expect: Expect::Any,
            prefix: spec.key_prefix.clone(),
            form: resp_form(&words, spec, values),
            words,
        }
    }

    fn set(spec: &LoadSpec, values: &Values) -> CommandTemplate {
        let expires = spec.expiry_range.is_some();
        let words: Vec<String> = match (spec.protocol.is_resp(), expires) {
            (true, false) => vec!["SET".into(), "__key__".into(), "__data__".into()],
            (true, true) => vec![
                "SETEX".into(),
                "__key__".into(),
                "__expiry__".into(),
                "__data__".into(),
            ],
            (false, _) => vec!["set".into(), "__key__".into()],
        };
        let form = if spec.protocol.is_resp() {
            resp_form(&words, spec, values)
        } else {
            memcache_set(spec, values)
        };
        CommandTemplate {
            name: "SET".to_owned(),
            role: Role::Set,
            expect: if spec.protocol.is_resp() {
                Expect::Ok
            } else {
                Expect::Stored
            },
            prefix: spec.key_prefix.clone(),
            form,
            words,
        }
    }

    fn get(spec: &LoadSpec, values: &Values) -> CommandTemplate {
        let resp = spec.protocol.is_resp();
        let word = match (resp, spec.multi_key_get) {
            (true, 0) => "GET",
            (true, _) => "MGET",
            (false, _) => "get",
        };
        let words = vec![word.to_owned(), "__key__".to_owned()];
        let (form, expect) = match (spec.multi_key_get, resp) {
            (0, true) => (resp_form(&words, spec, values), Expect::Value),
            (0, false) => (
                single(spec, |program, _| {
                    program.literal(b"get ");
                    program.literal(spec.key_prefix.as_bytes());
                    program.pieces.push(Piece::Key);
                    program.literal(b"\r\n");
                }),
                Expect::Value,
            ),
            (keys, resp) => (Form::MultiGet { keys, resp }, Expect::Values(keys.into())),
        };
        CommandTemplate {
            name: "GET".to_owned(),
            role: Role::Get,
            expect,
            prefix: spec.key_prefix.clone(),
            form,
            words,
        }
    }
}
