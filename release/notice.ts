import type { Component } from "./component.ts";

const rule = `${"-".repeat(80)}\n`;

/**
 * The text of a NOTICE file: name, version and license of each component, sorted by package URL,
 * then each text of a license once, below the components that it is of. `texts` has them by package
 * URL. Throws an Error that names a component of one license that has no text.
 */
export function noticeText(
  components: readonly Component[],
  texts: ReadonlyMap<string, string>,
): string {
  const unique = new Map(components.map((component) => [component.purl, component]));
  const sorted = [...unique.keys()].toSorted().flatMap((purl) => unique.get(purl) ?? []);
  const owners = new Map<string, string[]>();
  for (const component of sorted) {
    if (!("id" in component.license)) continue;
    const text = texts.get(component.purl);
    if (text === undefined) throw new Error(`${titleOf(component)} has no text of its license`);
    const same = owners.get(tidied(text)) ?? [];
    owners.set(tidied(text), [...same, titleOf(component)]);
  }
  return [
    "Latchkey contains the following packages. The texts of their licenses are below.\n\n",
    ...sorted.map((component) => `${titleOf(component)}: ${licenseOf(component)}\n`),
    ...[...owners].map(
      ([text, titles]) => `\n${rule}License of ${titles.join(", ")}\n${rule}\n${text}`,
    ),
  ].join("");
}

function titleOf({ name, version }: Component): string {
  return `${name} ${version}`;
}

function licenseOf({ license }: Component): string {
  return "id" in license ? license.id : `see ${license.textIn}`;
}

/** A text without what differs only in its line breaks. */
function tidied(text: string): string {
  return `${text
    .replaceAll("\r\n", "\n")
    .replaceAll(/[ \t]+$/gm, "")
    .replaceAll(/^\n+|\n+$/g, "")}\n`;
}
