"use strict";
// Questions about the cells of a row, as questions.py reads them: Board.question("torch:failure").
(() => {
  const MORE = ["green", "red", "never", "never-green"];
  const WORDS = ["any", "all", "is", "only", "since", "module", "test", "group"];
  const DAYS = { h: 1 / 24, d: 1, w: 7, m: 30, y: 365 };
  const COMPARE = { "=": (a, b) => a === b, "!=": (a, b) => a !== b, "<": (a, b) => a < b,
    "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b };
  const COUNT = /^count\(([^()]*)\)\s*([<>!]?=|<|>)\s*(\d+)$/i;
  const LONGEST = 1000;
  const MOST_WORDS = 200;
  const DEEPEST = 50;

  const isRed = (name) => name === "failure" || name === "error";

  // Where the cells of a row are that ran or could have run. A large board has a million of them, so
  // they are numbers and no objects.
  const cellsOf = (row) => {
    const begin = Board.at(row, row.plain ? Board.width : 0);
    const end = row.plain ? begin + 1 : begin + Board.width;
    const found = [];
    for (let at = begin; at < end; at += 1) if (Board.outcome[at] !== Board.NONE) found.push(at);
    return found;
  };
  const ranOf = (row) => cellsOf(row).filter((at) => Board.outcome[at] >= 0);
  const columnOf = (row, at) => at - Board.at(row, 0);
  const nameOf = (at) => Board.outcomes[Board.outcome[at]];

  const has = (at, kinds) => {
    if (Board.outcome[at] === Board.NEVER) return kinds.has("never");
    const name = nameOf(at);
    return kinds.has(name) || (kinds.has("never-green") && name !== "success" && Board.neverGreen.has(at));
  };

  const kindsOf = (text) => new Set(text.toLowerCase().split(",").flatMap((name) => {
    if (name === "red") return Board.outcomes.filter(isRed);
    if (name === "green") return ["success"];
    if (Board.outcomes.includes(name) || MORE.includes(name)) return [name];
    throw new Error(`no outcome '${name}'; expected ${[...Board.outcomes, ...MORE].join(", ")}`);
  }));

  const askCells = (how, columns, kinds) => (row) => {
    const asked = columns === null ? cellsOf(row)
      : cellsOf(row).filter((at) => !row.plain && columns.has(columnOf(row, at)));
    return asked.length > 0 && asked[how]((at) => has(at, kinds));
  };

  const askIs = (value) => {
    const wanted = value.toLowerCase();
    if (wanted === "different") return (row) => ranOf(row).some((at, _, [first]) => Board.outcome[at] !== Board.outcome[first]);
    if (wanted === "flaky") return (row) => ranOf(row).some((at) => Board.flakyCells.has(at));
    if (wanted === "green") return askCells("every", null, new Set(["success"]));
    if (Board.outcomes.includes(wanted) || MORE.includes(wanted)) return askCells("some", null, kindsOf(wanted));
    throw new Error(`'${value}' after 'is:'; expected ${["different", "flaky", "green", "red", ...Board.outcomes].join(", ")}`);
  };

  // The columns of that name or label, or of that framework in several versions.
  const named = (name) => {
    const wanted = name.toLowerCase();
    const which = (fits) => Board.backends.map((backend, index) => (fits(backend) ? index : -1)).filter((i) => i >= 0);
    const exact = which((one) => [one.name.toLowerCase(), one.label.toLowerCase()].includes(wanted));
    return new Set(exact.length ? exact : which((one) => one.name.split(" ")[0].toLowerCase() === wanted));
  };

  const askOnly = (name) => {
    const columns = named(name);
    if (!columns.size) throw new Error(`no column '${name}' after 'only:'; expected ${Board.backends.map((one) => one.label).join(", ")}`);
    return (row) => {
      const red = ranOf(row).filter((at) => isRed(nameOf(at)));
      return red.length > 0 && !row.plain && red.every((at) => columns.has(columnOf(row, at)));
    };
  };

  const askSince = (age) => {
    const found = /^(\d{1,6})([hdwmy])$/.exec(age.toLowerCase());
    if (!found) throw new Error(`'${age}' after 'since:'; expected an age such as 12h, 7d or 2w`);
    const begin = Board.now() - Number(found[1]) * DAYS[found[2]] * Board.DAY;
    return (row) => ranOf(row).some((at) => Board.redSince.get(at) >= begin);
  };

  // "*" stands for any text; without one, the text may stand anywhere. No regular expression: one
  // with many stars takes ages over a name that it nearly fits, and an address may come from anybody.
  const askText = (key, value) => {
    const read = { module: (row) => row.module.name, test: (row) => row.name,
      group: (row) => Board.groupOf(row.test) ?? "" }[key];
    const pieces = value.toLowerCase().split("*");
    if (pieces.length === 1) return (row) => read(row).toLowerCase().includes(pieces[0]);
    const last = pieces.pop();
    const first = pieces.shift();
    return (row) => {
      const text = read(row).toLowerCase();
      if (!text.startsWith(first)) return false;
      let at = first.length;
      for (const piece of pieces) {
        const found = text.indexOf(piece, at);
        if (found < 0) return false;
        at = found + piece.length;
      }
      return text.length >= at + last.length && text.endsWith(last);
    };
  };

  // A test without a backend is in no column: there is nothing to count.
  const askCount = (word) => {
    const [, kind, sign, number] = COUNT.exec(word);
    const kinds = kindsOf(kind.trim());
    return (row) => !row.plain && COMPARE[sign](cellsOf(row).filter((at) => has(at, kinds)).length, Number(number));
  };

  const split = (word) => {
    let inside = false;
    for (let place = 0; place < word.length; place += 1) {
      if (word[place] === '"') inside = !inside;
      else if (word[place] === ":" && !inside) return [word.slice(0, place), word.slice(place + 1)].map((part) => part.replaceAll('"', ""));
    }
    return [word.replaceAll('"', ""), null];
  };

  const term = (word) => {
    if (/^count\(/i.test(word)) return askCount(word);
    const [key, value] = split(word);
    if (value === null) {
      if (["flaky", "hollow"].includes(word.toLowerCase())) return askIs(word);
      const text = key.toLowerCase();
      return (row) => row.words.includes(text);
    }
    if (!value) throw new Error(`nothing after '${key}:'`);
    const name = key.toLowerCase();
    if (name === "any" || name === "all") return askCells(name === "all" ? "every" : "some", null, kindsOf(value));
    const columns = named(key);
    if (columns.size) return askCells("some", columns, kindsOf(value));
    if (name === "is") return askIs(value);
    if (name === "only") return askOnly(value);
    if (name === "since") return askSince(value);
    if (["module", "test", "group"].includes(name)) return askText(name, value);
    const expected = [...Board.backends.map((one) => one.label), ...WORDS].join(", ");
    throw new Error(`no column or word '${key}' before ':'; expected ${expected}. Put text with a colon into double quotes`);
  };

  const tokensOf = (text) => {
    const pattern = /\s*(?:(count\([^()]*\)\s*(?:[<>!]?=|<|>)\s*\d+)|((?:"[^"]*"|[^\s()"])+)|([()]))/iy;
    const tokens = [];
    const whole = text.trimEnd();
    while (pattern.lastIndex < whole.length) {
      const place = pattern.lastIndex;
      const found = pattern.exec(whole);
      if (!found) throw new Error(`cannot read '${whole.slice(place).trim().slice(0, 30)}'; is a quote not closed?`);
      tokens.push(found[1] ?? found[2] ?? found[3]);
    }
    return tokens;
  };

  Board.question = (text) => {
    if (text.length > LONGEST) throw new Error(`${text.length} characters; expected ${LONGEST} at most`);
    const tokens = tokensOf(text);
    let place = 0;
    const next = () => tokens[place]?.toLowerCase();
    const either = (depth) => {
      if (depth > DEEPEST) throw new Error(`more than ${DEEPEST} parentheses inside each other`);
      const tests = [both(depth)];
      while (next() === "or") { place += 1; tests.push(both(depth)); }
      return tests.length === 1 ? tests[0] : (row) => tests.some((test) => test(row));
    };
    const both = (depth) => {
      const tests = [one(depth)];
      while (next() !== undefined && next() !== ")" && next() !== "or") {
        if (next() === "and") place += 1;
        tests.push(one(depth));
      }
      return tests.length === 1 ? tests[0] : (row) => tests.every((test) => test(row));
    };
    const one = (depth) => {
      const word = next();
      if (word === undefined || [")", "and", "or"].includes(word)) {
        throw new Error(`expected a word or a question, got '${word ?? "the end"}'`);
      }
      place += 1;
      if (word === "not") {
        const negated = one(depth + 1);
        return (row) => !negated(row);
      }
      if (word === "(") {
        const inner = either(depth + 1);
        if (next() !== ")") throw new Error("expected ')'");
        place += 1;
        return inner;
      }
      return term(tokens[place - 1]);
    };
    if (tokens.length > MOST_WORDS) throw new Error(`${tokens.length} words; expected ${MOST_WORDS} at most`);
    if (!tokens.length) return () => true;
    const test = either(0);
    if (place < tokens.length) throw new Error(`unexpected '${tokens[place]}'`);
    return test;
  };
})();
