#!/usr/bin/env bash
# Keeps a board's store between CI runs, on a branch of the project's own repository that holds one
# commit and nothing but the store. Needs git, and trellis-board on the PATH.
#
#   history.sh fetch STORE          get the store as the last run left it; nothing the first time
#   history.sh save STORE PART...   take PARTs into it and push it
#
# Two runs that end at the same time do not lose each other: a push that comes second is refused,
# starts again from what the first one left, and merges its own parts into that. The branch always
# has a single commit, so that the repository does not grow with every run.
#
# With BOARD_PROJECT, nothing but this project is taken from the PARTs.
# BOARD_HISTORY_BRANCH (board-history) and BOARD_HISTORY_REMOTE (origin) may say otherwise; with
# BOARD_KEEP (as 180d) runs that are older are forgotten.
set -euo pipefail

branch=${BOARD_HISTORY_BRANCH:-board-history}
remote=${BOARD_HISTORY_REMOTE:-origin}
file=board.sqlite

# The commit that the remote's branch is at; nothing if there is no such branch.
tip() {
  git ls-remote "$remote" "refs/heads/$branch" | cut -f1
}

fetch() {
  local at
  at=$(tip)
  if [ -z "$at" ]; then
    rm -f "$1"
    return
  fi
  git fetch --quiet --depth 1 "$remote" "$at"
  git show "$at:$file" > "$1"
}

save() {
  local store=$1 before commit tree blob
  shift
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    before=$(tip)
    rm -f "$store" "$store-wal" "$store-shm"
    fetch "$store"
    trellis-board merge --store "$store" ${BOARD_PROJECT:+--project "$BOARD_PROJECT"} "$@"
    if [ -n "${BOARD_KEEP:-}" ]; then
      trellis-board prune --store "$store" --older-than "$BOARD_KEEP"
    fi
    # A copy without a journal beside it: one file is all there is to keep.
    rm -f "$store.copy"
    trellis-board backup --store "$store" "$store.copy"
    blob=$(git hash-object -w "$store.copy")
    rm -f "$store.copy"
    tree=$(printf '100644 blob %s\t%s\n' "$blob" "$file" | git mktree)
    commit=$(git commit-tree "$tree" -m "The board's store")
    if git push --quiet --force-with-lease="refs/heads/$branch:$before" \
      "$remote" "$commit:refs/heads/$branch"; then
      return
    fi
    sleep $((RANDOM % 5 + 1))
  done
  echo "history.sh: somebody else pushed to $branch ten times in a row" >&2
  return 1
}

case "${1:-}" in
  fetch) shift; fetch "$@" ;;
  save) shift; save "$@" ;;
  *) echo "usage: history.sh fetch STORE | save STORE PART..." >&2; exit 2 ;;
esac
