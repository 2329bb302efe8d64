/**
 * A text without these characters at its end. A pattern for them, such as `/\/+$/`, starts at each
 * of many that are not at the end.
 */
export function withoutEnd(text: string, characters: string): string {
  const codes = Array.from(characters, (character) => character.charCodeAt(0));
  let end = text.length;
  while (end > 0 && codes.includes(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
