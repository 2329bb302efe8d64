import { endOfString } from "../../api/bounded-json.ts";

const [lineFeed, carriageReturn, byteOrderMark] = [0x0a, 0x0d, 0xfeff];
const [blank, tab, quote, apostrophe] = [0x20, 0x09, 0x22, 0x27];
const [comma, brace, percent, hash] = [0x2c, 0x7b, 0x25, 0x23];
/** Of an explicit key, and of an anchor, a tag or an alias before one. */
const beforeExplicit = Array.from("?&!*", (character) => character.charCodeAt(0));

/**
 * Which of the names may be keys of a YAML mapping: of one in blocks at the beginning of lines, of
 * one in braces anywhere.
 */
export function yamlKeys(
  text: string,
  names: readonly string[],
  isInBlocks: boolean,
): ReadonlySet<string> {
  const found = new Set<string>();
  const begins = [quote, apostrophe, ...names.map((name) => name.charCodeAt(0))];
  let mayBegin = true;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (mayBegin && begins.includes(code))
      for (const name of names) if (isKeyAt(text, at, name)) found.add(name);
    if (mayBegin && isUnclear(text, at, isInBlocks)) for (const name of names) found.add(name);
    mayBegin = isLineEnd(code) || (!isInBlocks && isBeforeKey(code));
  }
  return found;
}

/**
 * Where the content of the first document of a text begins: behind its directives, its comments and
 * `---`. One pass, because the text may be comments alone.
 */
export function documentStart(text: string): number {
  let lineAt = text.charCodeAt(0) === byteOrderMark ? 1 : 0;
  let start = lineAt;
  let [isSkipped, isMarked] = [false, false];
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === lineFeed) {
      lineAt = at + 1;
      isSkipped = false;
    } else if (!isSkipped && code !== blank && code !== tab && code !== carriageReturn) {
      isSkipped = code === hash || (code === percent && at === lineAt && !isMarked);
      if (isSkipped) continue;
      const end = isMarked ? undefined : markerEnd(text, lineAt);
      if (end === undefined) return lineAt;
      isMarked = true;
      start = lineAt = end;
      at = end - 1;
    }
  }
  return start;
}

/** Where the content behind `---` begins, on its line or on the next; undefined without it. */
function markerEnd(text: string, lineAt: number): number | undefined {
  const end = text.indexOf("\n", lineAt);
  const line = text.slice(lineAt, end === -1 ? text.length : end);
  const [marker] = /^---[ \t]+(?=\{)/.exec(line) ?? [];
  if (marker !== undefined) return lineAt + marker.length;
  return end !== -1 && /^---[ \t]*(?:#|\r?$)/.test(line) ? end + 1 : undefined;
}

/** A key in braces may have no value. */
const keyEnds = [":", ",", "}", "#"];

/** Whether a key of that name begins there, in quotes or not. */
function isKeyAt(text: string, begin: number, name: string): boolean {
  let at = isQuote(text.charCodeAt(begin)) ? begin + 1 : begin;
  for (let index = 0; index < name.length; index += 1, at += 1)
    if (text.charCodeAt(at) !== name.charCodeAt(index)) return false;
  if (isQuote(text.charCodeAt(at))) at += 1;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return keyEnds.includes(text.charAt(at));
}

/** Whether a key begins there that may be any: it has an escape, or something before it. */
function isUnclear(text: string, begin: number, isInBlocks: boolean): boolean {
  const code = text.charCodeAt(begin);
  if (code !== quote) return isInBlocks && beforeExplicit.includes(code);
  const end = endOfString(text, begin + 1);
  return text.slice(begin, end).includes("\\") && /^[ \t]*:/.test(text.slice(end + 1, end + 100));
}

/** Also the line breaks of YAML 1.1, which kube-apiserver reads. */
function isLineEnd(code: number): boolean {
  if (code < 0x80) return code === lineFeed || code === carriageReturn;
  return code === 0x85 || code === 0x2028 || code === 0x2029 || code === byteOrderMark;
}

function isBlank(code: number): boolean {
  return code === blank || code === tab || isLineEnd(code);
}

function isBeforeKey(code: number): boolean {
  return code === brace || code === comma || isBlank(code);
}

function isQuote(code: number): boolean {
  return code === quote || code === apostrophe;
}
