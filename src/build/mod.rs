//! From a commit's tree to an artifact: recipe, runner, cache.
