/**
 * A text without these characters at its end. A pattern for them, such as `/\/+$/`, starts at each
 * of many that are not at the end.
 */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}
