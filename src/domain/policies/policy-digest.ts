import { isRecord, recordAt, stringAt } from "../../api/parse.ts";
import { hashName } from "../hash-name.ts";

/** What a place of an object may have without a difference in what the object decides. */
interface Place {
  /** The value that an API server fills in (Kubernetes API reference); it counts as none. */
  readonly filledIn?: unknown;
  /** Nothing here decides. */
  readonly isText?: true;
  /** The fields that this version knows, of an object that is no map. */
  readonly fields?: Readonly<Record<string, Place>>;
  readonly items?: Place;
}

const plain: Place = {};
const text: Place = { isText: true };
const expressions: Place = { items: { fields: { name: plain, expression: plain } } };
const rules: Place = {
  items: {
    fields: {
      apiGroups: plain,
      apiVersions: plain,
      operations: plain,
      resources: plain,
      resourceNames: plain,
      scope: { filledIn: "*" },
    },
  },
};
const matchResources: Place = {
  fields: {
    matchPolicy: { filledIn: "Equivalent" },
    namespaceSelector: { filledIn: {} },
    objectSelector: { filledIn: {} },
    resourceRules: rules,
    excludeResourceRules: rules,
  },
};
const policySpec: Place = {
  fields: {
    failurePolicy: { filledIn: "Fail" },
    matchConstraints: matchResources,
    matchConditions: expressions,
    variables: expressions,
    paramKind: plain,
    validations: {
      items: {
        fields: { expression: plain, message: text, messageExpression: text, reason: text },
      },
    },
    auditAnnotations: plain,
    // Of a MutatingAdmissionPolicy.
    mutations: { items: { fields: { patchType: plain, applyConfiguration: plain } } },
    reinvocationPolicy: { filledIn: "Never" },
  },
};
const bindingSpec: Place = {
  fields: { policyName: plain, validationActions: plain, paramRef: plain, matchResources: plain },
};

/** The namespace of Latchkey in `config/`; a Helm chart writes that of its release instead. */
const shippedNamespace = "latchkey-system";

/** How a policy or binding is read. */
export interface PolicyReading {
  /** Accounts of this namespace count as those of the shipped one, and the other way around. */
  readonly namespace?: string | undefined;
  /**
   * In the central cluster, no difference are line breaks, the prefixes that its administrator
   * edits, and a field that this version does not know, with an empty value.
   */
  readonly isCentral?: boolean;
}

/**
 * A digest of what a policy decides: of its spec without the texts of its validations, and without
 * the values that an API server fills in.
 */
export function policyDigest(policy: unknown, reading: PolicyReading = {}): string {
  return hashName([decisive(recordAt(policy, "spec"), policySpec, { level: 0, ...reading })], 64);
}

/**
 * Whether a binding applies all that the policy of this name decides: that of a validating one
 * denies it, and may write it to the audit log, too.
 */
export function appliesAllOf(
  { name, isMutating }: { readonly name: string; readonly isMutating: boolean },
  binding: unknown,
  reading: PolicyReading = {},
): boolean {
  const spec = decisive(recordAt(binding, "spec"), bindingSpec, { level: 0, ...reading });
  const actions = isMutating ? [undefined] : [["Deny"], ["Deny", "Audit"], ["Audit", "Deny"]];
  return actions.some(
    (validationActions) =>
      JSON.stringify(spec) === JSON.stringify({ policyName: name, validationActions }),
  );
}

interface At extends PolicyReading {
  readonly level: number;
}

/** The spec of a policy has seven levels; what a cluster answers may have any number. */
const mostLevels = 12;

/** All other places than those above count as they are. */
function decisive(value: unknown, { fields, items = {} }: Place, at: At): unknown {
  if (at.level > mostLevels) return "too deep";
  const below = { ...at, level: at.level + 1 };
  if (typeof value === "string") return textOf(value, at);
  if (Array.isArray(value)) return value.map((item: unknown) => decisive(item, items, below));
  if (!isRecord(value)) return value;
  const known = new Map(Object.entries(fields ?? {}));
  const isLenient = at.isCentral === true && fields !== undefined;
  const found = Object.entries(isLenient ? unedited(value) : value).flatMap(([name, field]) => {
    const place = known.get(name) ?? {};
    const inner = decisive(field, place, below);
    const isNone =
      place.isText ||
      JSON.stringify(inner) === JSON.stringify(place.filledIn) ||
      (isLenient && !known.has(name) && isEmpty(inner));
    return isNone ? [] : [[name, inner] as const];
  });
  return Object.fromEntries(found.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function textOf(value: string, { namespace = shippedNamespace, isCentral = false }: At): string {
  const swaps = new Map([
    [shippedNamespace, namespace],
    [namespace, shippedNamespace],
  ]);
  const swapped = value.replaceAll(
    /(?<=system:serviceaccount:)[-a-z0-9]+(?=:)/g,
    (found) => swaps.get(found) ?? found,
  );
  // kubectl, kustomize and Helm write the line breaks of a folded text in different ways.
  const lines = swapped.split("\n").map((line) => line.trim());
  return isCentral ? lines.filter((line) => line !== "").join(" ") : swapped;
}

/** The variables of the policy that an administrator edits: see config/policies/mint-guard.yaml. */
const edited: readonly unknown[] = ["userPrefix", "teamPrefix"];

function unedited(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const isPrefix =
    edited.includes(value["name"]) &&
    /^'[^'\\]*'$|^"[^"\\]*"$/.test(stringAt(value, "expression") ?? "");
  return isPrefix ? { ...value, expression: "''" } : value;
}

function isEmpty(value: unknown): boolean {
  return !value || (typeof value === "object" && Object.keys(value).length === 0);
}
