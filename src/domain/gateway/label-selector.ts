import { isLabelValue, isQualifiedName } from "../../api/label-form.ts";
import { readingBounds } from "../../api/reading-bounds.ts";

/**
 * Whether a label selector is certainly valid (Kubernetes, "Labels and Selectors"); unusual
 * spellings, such as two blanks, do not count.
 */
export function isLabelSelector(text: string): boolean {
  if (text.length > readingBounds.labelSelector.bytes) return false;
  const sets = text.match(valueSet) ?? [];
  return (
    (text === "" || listed(text.replaceAll(valueSet, "()")).every(isRequirement)) &&
    sets.every((set) => listed(set.slice(1, -1)).every(isLabelValue))
  );
}

const valueSet = /\([^()]*\)/g;

/** The items between commas; a blank may follow a comma. */
function listed(text: string): readonly string[] {
  return text.split(",").map((item, index) => (index > 0 ? item.replace(/^ /, "") : item));
}

const requirement =
  /^(?<not>! ?)?(?<key>[-\w./]+)(?<test> ?(?:==|=|!=) ?(?<value>[-\w.]*)| (?:in|notin) ?\(\))?$/;

function isRequirement(text: string): boolean {
  const { not, key = "", test, value = "" } = requirement.exec(text)?.groups ?? {};
  const isKnown = not === undefined || test === undefined;
  return isKnown && isQualifiedName(key) && isLabelValue(value);
}
