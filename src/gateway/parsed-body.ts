import { CORE_SCHEMA, loadAll, mergeTag } from "js-yaml";
import { excessIn } from "../api/bounded-json.ts";
import { readingBounds } from "../api/reading-bounds.ts";

/**
 * What the body of an object of Latchkey, or of a patch of one, says, as kube-apiserver reads it:
 * of a field that is there twice the last one, of several documents the first. Undefined for a text
 * that is not JSON or YAML, has more parts than the bounds allow, or a tag that is not of the core
 * schema.
 */
export function parsedBody(text: string, isYaml: boolean): unknown {
  const { bytes, values, depth } = readingBounds.yamlOfOwnKind;
  try {
    if (excessIn(text, readingBounds.bodyOfOwnKind) === undefined) return JSON.parse(text);
  } catch {
    // It may be YAML.
  }
  if (!isYaml || text.length > bytes || !hasFewParts(text, values)) return undefined;
  try {
    return loadAll(text, { schema, json: true, maxDepth: depth, maxAliases })[0];
  } catch {
    return undefined;
  }
}

/** An alias that is a key takes as long as what it stands for. */
const maxAliases = 100;
/** kube-apiserver reads YAML 1.1, which has `<<`. */
const schema = CORE_SCHEMA.withTags(mergeTag);

/** Whether a text has at most so many characters that are no part of a word. */
export function hasFewParts(text: string, most: number): boolean {
  let parts = 0;
  for (const character of text) {
    if (wordCharacter.test(character)) continue;
    parts += 1;
    if (parts > most) return false;
  }
  return true;
}

const wordCharacter = /[a-zA-Z0-9._/]/;
