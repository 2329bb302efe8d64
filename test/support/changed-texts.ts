import fc from "fast-check";

/** Texts in which one character of a text is removed, or replaced by at most two. */
export function changedTexts(text: string): fc.Arbitrary<string> {
  return fc
    .tuple(fc.nat({ max: text.length - 1 }), fc.string({ maxLength: 2 }))
    .map(([at, added]) => `${text.slice(0, at)}${added}${text.slice(at + 1)}`)
    .filter((changed) => changed !== text);
}
