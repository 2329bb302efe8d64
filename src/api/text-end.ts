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

/**
 * At most so many characters of a text: its beginning and its end, where an API server says what is
 * wrong with what it quotes before.
 */
export function withoutMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = Math.floor(most / 3);
  return `${text.slice(0, most - end - " ... ".length)} ... ${text.slice(-end)}`;
}
