import { type QueryParameters, valuesOf } from "./query.ts";
import type { MalformedTarget } from "./request-target.ts";

/**
 * The name that the field selector of a list or watch requires (`metadata.name=...`), which
 * kube-apiserver authorizes like a request for that object; empty if it requires none. Malformed is
 * what kube-apiserver would refuse or read in another way.
 */
export function nameOfSelection(parameters: QueryParameters): string | MalformedTarget {
  const [selector, ...others] = valuesOf(parameters, "fieldSelector");
  const count = parameters.filter(([name]) => name === "fieldSelector").length;
  if (count === 0) return "";
  if (others.length > 0) return malformed("the query must contain fieldSelector at most once");
  if (selector === undefined) return malformed("fieldSelector in the query must be UTF-8");
  const terms = fieldTerms(selector);
  if (terms === undefined) return malformed("fieldSelector in the query is invalid");
  const names = terms.filter(({ field, isEqual }) => field === "metadata.name" && isEqual);
  if (names.length > 1)
    return malformed("fieldSelector in the query must require metadata.name at most once");
  const [required] = names;
  if (required === undefined || /[/%]|^\.{1,2}$/.test(required.value)) return "";
  // With any list option that it cannot read, kube-apiserver authorizes without the name.
  const unreadable = unreadableOption(parameters);
  return unreadable === undefined
    ? required.value
    : malformed(`${unreadable} in the query is invalid`);
}

interface FieldTerm {
  readonly field: string;
  readonly isEqual: boolean;
  readonly value: string;
}

/** The terms of a field selector (k8s.io/apimachinery, fields.ParseSelector). */
function fieldTerms(selector: string): readonly FieldTerm[] | undefined {
  const terms: FieldTerm[] = [];
  for (const text of selector.match(/(?:[^\\,]|\\[^]|\\$)+/g) ?? []) {
    const match = /^([^]*?)(!=|==|=)([^]*)$/.exec(text);
    const value = unescapedValue(match?.[3] ?? "");
    if (match === null || value === undefined) return undefined;
    terms.push({ field: match[1] ?? "", isEqual: match[2] !== "!=", value });
  }
  return terms;
}

/** The value of a term; undefined if a special character is not escaped, or an escape is unknown. */
function unescapedValue(text: string): string | undefined {
  if (!/^(?:[^\\,=]|\\[\\,=])*$/.test(text)) return undefined;
  return text.replaceAll(/\\([\\,=])/g, "$1");
}

/** The first list option that kube-apiserver might not be able to read. */
function unreadableOption(parameters: QueryParameters): string | undefined {
  const isUnreadable = (name: string, isValid: (value: string) => boolean): boolean => {
    const values = valuesOf(parameters, name);
    return values.length > 0 && !isValid(values[0] ?? "\u0000");
  };
  const isCount = (value: string): boolean => /^\d{1,18}$/.test(value);
  if (isUnreadable("limit", isCount)) return "limit";
  if (isUnreadable("timeoutSeconds", isCount)) return "timeoutSeconds";
  return isUnreadable("labelSelector", isLabelSelector) ? "labelSelector" : undefined;
}

const labelName = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const dnsLabel = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?";
const labelKey = `(?:(?=[^/]{1,253}/)${dnsLabel}(?:\\.${dnsLabel})*/)?${labelName}`;
const labelValue = `(?:${labelName})?`;
const requirement = `(?:! ?${labelKey}|${labelKey}(?: ?(?:==|=|!=) ?${labelValue}| (?:in|notin) ?\\(${labelValue}(?:, ?${labelValue})*\\))?)`;
const labelSelector = new RegExp(`^(?:${requirement}(?:, ?${requirement})*)?$`);

/**
 * Whether a label selector is certainly valid (Kubernetes, "Labels and Selectors"); unusual
 * spellings, such as two blanks, do not count.
 */
function isLabelSelector(text: string): boolean {
  return text.length <= longestSelector && labelSelector.test(text);
}

const longestSelector = 4_096;

function malformed(reason: string): MalformedTarget {
  return { kind: "malformed", reason };
}
