import { isRecord, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import type { BodyFormat } from "./object-defaults.ts";

/**
 * What has to be at a place of an object. `scalar` is for secrets: kube-apiserver refuses a number
 * there without repeating it. `name` must be there once its place is written.
 */
type Shape = "scalar" | "string" | "name" | "list" | Fields;

/** The places below an object; those of all names at `*`. */
interface Fields {
  readonly [name: string]: Shape;
}

/** Without one of these, kube-apiserver repeats the whole object in its answer to a patch. */
const everyKind = {
  apiVersion: "name",
  kind: "name",
  metadata: {
    name: "string",
    namespace: "string",
    uid: "string",
    resourceVersion: "string",
    labels: { "*": "string" },
    annotations: { "*": "string" },
    finalizers: "list",
    ownerReferences: "list",
    managedFields: "list",
  },
} as const satisfies Fields;

const oidcLogin = { idToken: "scalar", accessToken: "scalar", refreshToken: "scalar" } as const;

/** The places of secrets: at another shape, server-side apply and the log repeat what is there. */
const shapes: ReadonlyMap<string, Fields> = new Map<string, Fields>([
  [resources.sharedSecrets.kind, { ...everyKind, spec: { data: { "*": "scalar" } } }],
  [
    resources.ownedAccessKeys.kind,
    { ...everyKind, spec: { key: "scalar", identity: { connectorData: "scalar" }, oidcLogin } },
  ],
  [resources.endpointTokens.kind, { ...everyKind, status: { token: "scalar" } }],
]);

/** What a body is for: the kind of its object, and how it says what the object shall be. */
export interface BodyUse {
  readonly kind: string;
  readonly format: BodyFormat;
}

/**
 * Why kube-apiserver might repeat secrets of a parsed body, or of the object that it changes:
 * something else is where text, a list or an object has to be. Undefined if nothing of that is
 * known, also of what could not be parsed. The sentence has the field and no value.
 */
export function shapeProblem(body: unknown, { kind, format }: BodyUse): string | undefined {
  const fields = shapes.get(kind) ?? {};
  if (format !== "json-patch") return problemAt(body, fields, "");
  if (!Array.isArray(body)) return undefined;
  for (const operation of body) {
    const problem = operationProblem(operation, fields);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The most steps of a path that are looked at; more lead nowhere. */
const mostSteps = 8;

/** What an operation of a JSON patch (RFC 6902) would put to its path, or take away. */
function operationProblem(operation: unknown, fields: Fields): string | undefined {
  const op = stringAt(operation, "op");
  const path = stringAt(operation, op === "move" ? "from" : "path");
  if (!isRecord(operation) || path === undefined || op === "copy") return undefined;
  const value = op === "move" || op === "remove" ? null : (operation["value"] ?? null);
  if (path === "") return problemAt(isRecord(value) ? withNames(value) : value, fields, "");
  // kube-apiserver ignores what is before the first slash.
  const [, ...steps] = path.split("/", mostSteps).map(decodedStep);
  let [shape, field]: [Shape, string] = [fields, ""];
  for (const step of steps) {
    if (shape === "list") return undefined;
    if (typeof shape === "string") return wrong(field, shape, {});
    const inner: Shape | undefined = Object.hasOwn(shape, step) ? shape[step] : shape["*"];
    if (inner === undefined) return undefined;
    [shape, field] = [inner, fieldOf(field, step)];
  }
  return steps.length === 0 ? undefined : problemAt(value, shape, field);
}

/** An object that takes the place of another, and lacks what kube-apiserver needs of it. */
function withNames(object: Readonly<Record<string, unknown>>): unknown {
  return { apiVersion: null, kind: null, ...object };
}

function decodedStep(step: string): string {
  return step.replaceAll(/~[01]/g, (escape) => (escape === "~1" ? "/" : "~"));
}

function problemAt(value: unknown, shape: Shape, field: string): string | undefined {
  if (value === undefined) return undefined;
  if (typeof shape === "string")
    return isOfShape(value, shape) ? undefined : wrong(field, shape, value);
  if (value === null) return undefined;
  if (!isRecord(value)) return wrong(field, "object", value);
  for (const [name, inner] of Object.entries(shape)) {
    const names = name === "*" ? Object.keys(value) : Object.hasOwn(value, name) ? [name] : [];
    for (const found of names) {
      const problem = problemAt(value[found], inner, fieldOf(field, found));
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function isOfShape(value: unknown, shape: Exclude<Shape, Fields>): boolean {
  switch (shape) {
    case "scalar":
      return value === null || typeof value !== "object";
    case "string":
      return value === null || typeof value === "string";
    case "list":
      return value === null || Array.isArray(value);
    case "name":
      return typeof value === "string" && value !== "";
  }
}

/** A name is shown if it is one that a key of data, a label or an annotation may have. */
function fieldOf(field: string, name: string): string {
  const shown = name.length <= 317 && /^[-._/a-zA-Z0-9]+$/.test(name) ? name : "*";
  return field === "" ? shown : `${field}.${shown}`;
}

const nouns = {
  scalar: "a string",
  string: "a string",
  name: "a string that is not empty",
  list: "a list",
  object: "an object",
} as const satisfies Record<string, string>;

function wrong(field: string, shape: keyof typeof nouns, value: unknown): string {
  const place = field === "" ? "the body of the request" : field;
  return `${place}: must be ${nouns[shape]}, and is ${nounOf(value)}; send ${nouns[shape]} there`;
}

function nounOf(value: unknown): string {
  if (value === null) return "missing or null";
  if (Array.isArray(value)) return "a list";
  if (value === "") return "empty";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
