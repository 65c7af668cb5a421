//! What a person or a script reads: text, JSON, Markdown, HTML and flame graphs.
