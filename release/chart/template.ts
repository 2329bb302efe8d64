import { dump } from "js-yaml";
import { isRecord, stringAt } from "../../src/api/parse.ts";

/** A Kubernetes object, as kustomize prints it. */
export type Manifest = Readonly<Record<string, unknown>>;

/**
 * Fields, positions, and names of items; `+` at the end is one more field or item, and the whole
 * field where an object does not have it.
 */
export type Path = readonly (string | number)[];

/** A place in an object that values decide. */
export interface Hole {
  readonly path: Path;
  /**
   * The Go template of the value, or after `+` of the lines; `@` in it is the indentation of a value
   * that is a block.
   */
  readonly text: string;
  /** The condition, a Go pipeline, without which the line is left out. */
  readonly when?: string;
}

/** Texts of the objects that stand for an expression: of the namespace, for example. */
export type Substitutions = Readonly<Record<string, string>>;

const line = /^(?<prefix>\s*(?:- )*)(?:(?<key>\S+): )?HOLE_(?<index>\d+)_(?:: null)?$/;

/**
 * The Helm template of an object: its YAML with an expression in each hole and in place of each
 * substituted text. Throws if the object has no such place, or if it is not a line of its own.
 */
export function templateOf(
  manifest: Manifest,
  wanted: readonly Hole[],
  substitutions: Substitutions,
): string {
  const holes = wanted.map((hole) => ({ ...hole, path: placeIn(manifest, hole.path) }));
  const marked = holes.reduce<unknown>(
    (object, { path }, index) => withMark(object, path, `HOLE_${index}_`),
    manifest,
  );
  const missing = holes.find((_, index) => !JSON.stringify(marked).includes(`HOLE_${index}_`));
  if (missing !== undefined)
    throw new Error(`${missing.path.join(".")} is not in ${stringAt(manifest, "kind")}`);
  const text = dump(marked, { lineWidth: -1, noRefs: true }).replaceAll("{{", '{{ "{{" }}');
  return substituted(text, substitutions)
    .split("\n")
    .map((written) => filled(written, holes))
    .join("\n");
}

/** The path without its `+` if there is nothing to which to add. */
function placeIn(manifest: Manifest, path: Path): Path {
  const [last, parent] = [path.at(-1), path.slice(0, -1)];
  return last === "+" && parent.length > 1 && valueAt(manifest, parent) === undefined
    ? parent
    : path;
}

function valueAt(target: unknown, [step, ...rest]: Path): unknown {
  if (step === undefined) return target;
  if (!Array.isArray(target)) return valueAt(isRecord(target) ? target[step] : undefined, rest);
  const items: readonly unknown[] = target;
  const found = items.find((item, at) => step === at || step === stringAt(item, "name"));
  return valueAt(found, rest);
}

/** The places at which all texts that a substitution names become its expression. */
function substituted(text: string, substitutions: Substitutions): string {
  return Object.entries(substitutions).reduce(
    (result, [from, expression]) =>
      result
        // A value that is all digits would be a number.
        .replaceAll(new RegExp(`(: |- )${from}$`, "gm"), `$1{{ ${expression} | quote }}`)
        .replaceAll(from, `{{ ${expression} }}`),
    text,
  );
}

function filled(written: string, holes: readonly Hole[]): string {
  const { prefix = "", key, index } = line.exec(written)?.groups ?? {};
  const hole = holes[Number(index)];
  if (index === undefined || hole === undefined) {
    if (/HOLE_\d+_/.test(written)) throw new Error(`the hole in "${written}" is not a whole line`);
    return written;
  }
  const isLines = hole.path.at(-1) === "+";
  const indentation = prefix.length - (isLines && prefix.endsWith("- ") ? 2 : 0);
  const text = hole.text.replaceAll("@", String(isLines ? indentation : indentation + 2));
  const whole = isLines
    ? text.replaceAll(/^(?!\{\{-)/gm, " ".repeat(indentation))
    : `${prefix}${key === undefined ? "" : `${key}: `}${text}`;
  return hole.when === undefined ? whole : `{{- if ${hole.when} }}\n${whole}\n{{- end }}`;
}

function withMark(target: unknown, [step, ...rest]: Path, mark: string): unknown {
  if (step === undefined) return mark;
  if (Array.isArray(target)) {
    const items: readonly unknown[] = target;
    return step === "+"
      ? [...items, mark]
      : items.map((item, index) =>
          step === index || step === stringAt(item, "name") ? withMark(item, rest, mark) : item,
        );
  }
  const record = isRecord(target) ? target : {};
  return step === "+"
    ? { ...record, [mark]: null }
    : { ...record, [step]: withMark(record[step], rest, mark) };
}
