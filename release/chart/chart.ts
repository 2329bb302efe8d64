import { readFileSync } from "node:fs";
import { join } from "node:path";
import { dump } from "js-yaml";
import { isRecord, recordAt, stringAt } from "../../src/api/parse.ts";
import { oldestMinor } from "../../src/domain/kubernetes-version.ts";
import { documentation } from "../registry.ts";
import { nameOf } from "./kustomize.ts";
import { commonLabels, labelsPath } from "./labels.ts";
import { type Hole, type Manifest, type Substitutions, templateOf } from "./template.ts";
import { type Schema, type Value, valuesFile, valuesSchema } from "./value.ts";

/** Objects, or a choice between two sources by a Go pipeline. */
export type Source =
  | readonly Manifest[]
  | { readonly when: string; readonly yes: Source; readonly no: Source };

/** A directory of templates. */
export interface Part {
  readonly directory: string;
  readonly source: Source;
  /** The condition for all of its objects; undefined: always. */
  readonly when?: string;
}

/** A file of a chart; its path is relative. */
export interface ChartFile {
  readonly path: string;
  readonly text: string;
}

/** A Helm chart. */
export interface Chart {
  readonly name: string;
  readonly description: string;
  readonly parts: readonly Part[];
  /** Templates that are written by hand, by their names. */
  readonly templates: Readonly<Record<string, string>>;
  readonly values: readonly Value[];
  /** What the schema requires of several values together. */
  readonly requirements: readonly Schema[];
  readonly substitutions: Substitutions;
  /** The condition of an object; undefined: always. */
  readonly conditionOf: (manifest: Manifest) => string | undefined;
  /** The condition under which `helm uninstall` keeps an object; undefined: never. */
  readonly keptIf: (manifest: Manifest) => string | undefined;
}

/** The files of a chart, below a directory with its name. */
export function filesOf(chart: Chart, version: string): readonly ChartFile[] {
  const templates = chart.parts.flatMap((part) => templatesOf(chart, part));
  const written = Object.entries(chart.templates).map(([path, text]) => ({ path, text }));
  const files = [
    { path: "Chart.yaml", text: dump(metadataOf(chart, version)) },
    { path: "values.yaml", text: valuesFile(chart.values) },
    {
      path: "values.schema.json",
      text: `${JSON.stringify(valuesSchema(chart.values, chart.requirements), undefined, 2)}\n`,
    },
    ...[...templates, ...written].map(({ path, text }) => ({ path: `templates/${path}`, text })),
  ];
  return files.map(({ path, text }) => ({ path: `${chart.name}/${path}`, text }));
}

/** The text of a template that is written by hand, beside this file. */
export function handWritten(name: string): string {
  return readFileSync(join(import.meta.dirname, name), "utf8");
}

function metadataOf({ name, description }: Chart, version: string): Manifest {
  return {
    apiVersion: "v2",
    name,
    description,
    home: documentation,
    type: "application",
    version,
    // `-0` admits versions with a suffix.
    appVersion: version,
    kubeVersion: `>=1.${oldestMinor}.0-0`,
    annotations: { "artifacthub.io/license": "Apache-2.0" },
  };
}

/** One file for each kind of object. */
function templatesOf(chart: Chart, { directory, source, when }: Part): readonly ChartFile[] {
  const names = [...new Set(objectsOf(source).map(nameOf))];
  const kinds = Map.groupBy(names, (name) => name.split(" ")[0]?.toLowerCase() ?? "");
  return [...kinds].map(([kind, those]) => {
    const text = those.map((name) => variantOf(chart, source, name) ?? "").join("");
    return { path: `${directory}/${kind}.yaml`, text: onlyIf(when, text) };
  });
}

function objectsOf(source: Source): readonly Manifest[] {
  return "when" in source ? [...objectsOf(source.yes), ...objectsOf(source.no)] : source;
}

/** The template of an object that may differ between, or be absent from, parts of a source. */
function variantOf(chart: Chart, source: Source, name: string): string | undefined {
  if (!("when" in source)) {
    const manifest = source.find((object) => nameOf(object) === name);
    return manifest && documentOf(chart, manifest);
  }
  const [yes, no] = [variantOf(chart, source.yes, name), variantOf(chart, source.no, name)];
  if (yes === no) return yes;
  if (yes === undefined) return onlyIf(`not (${source.when})`, no ?? "");
  if (no === undefined) return onlyIf(source.when, yes);
  return `{{- if ${source.when} }}\n${yes}{{- else }}\n${no}{{- end }}\n`;
}

function documentOf(chart: Chart, manifest: Manifest): string {
  const name = nameOf(manifest);
  const decided = chart.values.flatMap((value) => (value.holes?.[name] ?? []).map(withName(value)));
  const holes = [
    ...decided,
    ...(decided.some(({ path }) => path === labelsPath) ? [] : [commonLabels]),
    ...keepHoles(manifest, chart.keptIf(manifest)),
  ];
  const text = `---\n${templateOf(manifest, holes, chart.substitutions)}`;
  return onlyIf(chart.conditionOf(manifest), text);
}

/** The hole with the expression of its value in place of VALUE. */
function withName({ name }: Value): (hole: Hole) => Hole {
  const named = (text: string): string => text.replaceAll("VALUE", `.Values.${name}`);
  return ({ path, text, when }) => ({
    path,
    text: named(text),
    ...(when !== undefined && { when: named(when) }),
  });
}

function keepHoles(manifest: Manifest, when: string | undefined): readonly Hole[] {
  if (when === undefined) return [];
  const keep = "helm.sh/resource-policy: keep";
  const path = ["metadata", "annotations"];
  const hasOthers = isRecord(recordAt(manifest, "metadata")["annotations"]);
  return [
    hasOthers
      ? { path: [...path, "+"], text: keep, when }
      : { path: ["metadata", "+"], text: `annotations:\n  ${keep}`, when },
  ];
}

function onlyIf(when: string | undefined, text: string): string {
  return when === undefined ? text : `{{- if ${when} }}\n${text}{{- end }}\n`;
}

/** Whether a manifest is of one of some kinds. */
export function isOf(manifest: Manifest, ...kinds: readonly string[]): boolean {
  return kinds.includes(stringAt(manifest, "kind") ?? "");
}
