import { text } from "../../runtime/config-values.ts";
import type { ConfigOf } from "../../runtime/options.ts";
import type { CommandOptions } from "../../cli/command.ts";

/** The options of the texts for people that an object has. */
export const textOptions = {
  displayName: { value: "<text>", help: "name for people; none if empty", parse: text },
  description: { value: "<text>", help: "what it is for; none if empty", parse: text },
} as const satisfies CommandOptions;

/** The fields of a spec that these flags set, as a merge patch: null removes one. */
export function textsOf({
  displayName,
  description,
}: ConfigOf<typeof textOptions>): Readonly<Record<string, string | null>> {
  const given = Object.entries({ displayName, description });
  return Object.fromEntries(
    given.flatMap(([field, value]) => (value === undefined ? [] : [[field, value || null]])),
  );
}
