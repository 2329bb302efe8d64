const [lineFeed, carriageReturn, byteOrderMark] = [0x0a, 0x0d, 0xfeff];
const [blank, tab, quote, apostrophe] = [0x20, 0x09, 0x22, 0x27];
const [comma, brace, percent, hash] = [0x2c, 0x7b, 0x25, 0x23];

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
    mayBegin = isLineEnd(code) || (!isInBlocks && isBeforeKey(code));
  }
  return found;
}

/**
 * Where the first document of a text begins: behind its directives, comments and `---`. One pass,
 * because the text may be comments alone.
 */
export function documentStart(text: string): number {
  const start = text.charCodeAt(0) === byteOrderMark ? 1 : 0;
  let lineAt = start;
  let isSkipped = false;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === lineFeed) {
      lineAt = at + 1;
      isSkipped = false;
    } else if (!isSkipped && code !== blank && code !== tab && code !== carriageReturn) {
      if (at !== lineAt || (code !== hash && code !== percent))
        return markerEnd(text, lineAt) ?? start;
      isSkipped = true;
    }
  }
  return start;
}

/** Where the line ends that begins there, if it is `---`. */
function markerEnd(text: string, lineAt: number): number | undefined {
  const end = text.indexOf("\n", lineAt);
  const isMarker = end !== -1 && /^---[ \t]*(?:#|\r?$)/.test(text.slice(lineAt, end));
  return isMarker ? end + 1 : undefined;
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
