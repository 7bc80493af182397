#!/usr/bin/env bash
# Writes the comment of a pull request, one that is rewritten every time. It runs with the rights of
# the main branch: all that it takes from the pull request are a text and a number. Needs gh.
set -euo pipefail
gh run download "$RUN" --name comment --dir "$RUNNER_TEMP/comment"
cd "$RUNNER_TEMP/comment"
# Two files, and no links to others: what they lead to would be in the comment.
for file in comment.md number; do
  test -f "$file"
  test ! -L "$file"
done
number=$(tr -cd 0-9 < number)
# The number comes from the pull request, so it must be one of this very commit.
head=$(gh pr view "$number" --json headRefOid --jq .headRefOid)
test "$head" = "$COMMIT"
{ echo '<!-- board -->'; head -c 60000 comment.md; } > "$RUNNER_TEMP/body.md"
old=$(gh api --paginate "repos/$GH_REPO/issues/$number/comments" \
  --jq '.[] | select(.user.type == "Bot" and (.body | startswith("<!-- board -->"))) | .id' | head -n 1)
if [ -n "$old" ]; then
  gh api --method PATCH "repos/$GH_REPO/issues/comments/$old" --field "body=@$RUNNER_TEMP/body.md"
else
  gh api --method POST "repos/$GH_REPO/issues/$number/comments" --field "body=@$RUNNER_TEMP/body.md"
fi
