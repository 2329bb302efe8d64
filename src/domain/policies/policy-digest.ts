import { isRecord, recordAt } from "../../api/parse.ts";
import { hashName } from "../hash-name.ts";

/** What a place of an object may have without a difference in what the object decides. */
interface Place {
  /** The value that an API server fills in (Kubernetes API reference); it counts as none. */
  readonly filledIn?: unknown;
  /** Nothing here decides. */
  readonly isText?: true;
  readonly fields?: Readonly<Record<string, Place>>;
  readonly items?: Place;
}

const rules: Place = { items: { fields: { scope: { filledIn: "*" } } } };

/** All other places count as they are, also those that this version does not know. */
const policySpec: Place = {
  fields: {
    failurePolicy: { filledIn: "Fail" },
    matchConstraints: {
      fields: {
        matchPolicy: { filledIn: "Equivalent" },
        namespaceSelector: { filledIn: {} },
        objectSelector: { filledIn: {} },
        resourceRules: rules,
      },
    },
    validations: {
      items: {
        fields: {
          message: { isText: true },
          messageExpression: { isText: true },
          reason: { isText: true },
        },
      },
    },
  },
};

/** The namespace of Latchkey in `config/`; a Helm chart writes that of its release instead. */
const shippedNamespace = "latchkey-system";

/**
 * A digest of what a ValidatingAdmissionPolicy decides: of its spec without the texts of its
 * validations, and without the values that an API server fills in. Accounts of this namespace count
 * as those of the shipped one, and the other way around.
 */
export function policyDigest(policy: unknown, namespace = shippedNamespace): string {
  const swaps = new Map([
    [shippedNamespace, namespace],
    [namespace, shippedNamespace],
  ]);
  const textOf = (text: string): string =>
    text.replaceAll(
      /(?<=system:serviceaccount:)[-a-z0-9]+(?=:)/g,
      (found) => swaps.get(found) ?? found,
    );
  return hashName([decisive(recordAt(policy, "spec"), policySpec, { level: 0, textOf })], 64);
}

/**
 * Whether a binding denies all that the policy of this name denies; it may write what it denies to
 * the audit log, too.
 */
export function deniesAllOf(name: string, binding: unknown): boolean {
  const spec = decisive(recordAt(binding, "spec"), {}, { level: 0, textOf: (text) => text });
  return [["Deny"], ["Deny", "Audit"], ["Audit", "Deny"]].some(
    (validationActions) =>
      JSON.stringify(spec) === JSON.stringify({ policyName: name, validationActions }),
  );
}

interface Reading {
  readonly level: number;
  readonly textOf: (text: string) => string;
}

/** The spec of a policy has seven levels; what a cluster answers may have any number. */
const mostLevels = 12;

function decisive(value: unknown, { fields = {}, items = {} }: Place, at: Reading): unknown {
  if (at.level > mostLevels) return "too deep";
  const below = { ...at, level: at.level + 1 };
  if (typeof value === "string") return at.textOf(value);
  if (Array.isArray(value)) return value.map((item: unknown) => decisive(item, items, below));
  if (!isRecord(value)) return value;
  const known = new Map(Object.entries(fields));
  const found = Object.entries(value).flatMap(([name, field]) => {
    const place = known.get(name) ?? {};
    const inner = decisive(field, place, below);
    const isNone = place.isText || JSON.stringify(inner) === JSON.stringify(place.filledIn);
    return isNone ? [] : [[name, inner] as const];
  });
  return Object.fromEntries(found.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
