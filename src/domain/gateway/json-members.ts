import { endOfString } from "../../api/bounded-json.ts";

/** What is known of the members of a JSON object. */
interface JsonMembers {
  /** Where the first member begins. */
  readonly start: number;
  readonly isEmpty: boolean;
  /** Those of the names that a member may have. */
  readonly found: ReadonlySet<string>;
}

type Token = "blank" | "open" | "close" | "comma" | "colon" | "string" | "word";

/** The token that a character begins, by its code. */
const tokens: (Token | undefined)[] = [];
for (const [token, characters] of [
  ["blank", " \t\r\n"],
  ["open", "{["],
  ["close", "}]"],
  ["comma", ","],
  ["colon", ":"],
  ["string", '"'],
  ["word", "-+.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"],
] as const)
  for (const character of characters) tokens[character.charCodeAt(0)] = token;

/**
 * Which of the names the members of an object may have; undefined for a text that is no JSON
 * object. One pass builds no values, and checks neither words nor escapes nor the kind of brackets.
 */
export function jsonMembers(text: string, names: readonly string[]): JsonMembers | undefined {
  const start = text.indexOf("{") + 1;
  if (start === 0 || !/^[ \t\r\n]*$/.test(text.slice(0, start - 1))) return undefined;
  const found = new Set<string>();
  let before: Token = "open";
  let [isEmpty, hasName] = [true, false];
  let [depth, stringAt, stringEnd] = [1, 0, 0];
  for (let at = start; at < text.length; at += 1) {
    const token = tokens[text.charCodeAt(at)];
    if (token === "blank") continue;
    if (token === undefined || depth === 0 || !mayFollow(token, before)) return undefined;
    if (depth === 1) {
      if ((token === "comma" || token === "close") && !hasName && !isEmpty) return undefined;
      if (token === "colon") {
        const member = text.slice(stringAt, stringEnd);
        for (const name of names) if (mayBe(member, name)) found.add(name);
      }
      hasName = token === "colon" || (hasName && token !== "comma");
      isEmpty &&= token === "close";
    }
    if (token === "open") depth += 1;
    if (token === "close") depth -= 1;
    if (token === "word") while (tokens[text.charCodeAt(at + 1)] === "word") at += 1;
    if (token === "string") {
      stringAt = at + 1;
      at = stringEnd = endOfString(text, stringAt);
    }
    before = token;
  }
  return depth === 0 ? { start, isEmpty, found } : undefined;
}

function mayFollow(token: Token, before: Token): boolean {
  const isBehindValue = before === "string" || before === "word" || before === "close";
  if (token === "colon") return before === "string";
  if (token === "comma") return isBehindValue;
  return token === "close" ? isBehindValue || before === "open" : !isBehindValue;
}

/** Whether a string means the name; one with an escape may. */
function mayBe(string: string, name: string): boolean {
  return string === name || (string.length <= 6 * name.length && string.includes("\\"));
}
