import { expect, test } from "vitest";
import { certificateSecrets } from "../../../src/api/names.ts";
import {
  certificateProblemSentence,
  type ObservedProblems,
  presentProblems,
} from "../../../src/domain/certificates/certificate-problem.ts";

test.each<[string, Partial<ObservedProblems>, readonly string[]]>([
  ["nothing is wrong", {}, []],
  ["the CA changed", { former: ["a"] }, ["ca-changed"]],
  ["the Secret is deleted", { secret: "missing" }, ["secret-missing"]],
  ["there was never a Secret", { secret: "missing", isInUse: false }, []],
  ["the Secret is invalid", { secret: "invalid", isInUse: false }, ["secret-unreadable"]],
  [
    "the CA changed and the Secret is invalid",
    { secret: "invalid", former: ["a"] },
    ["ca-changed", "secret-unreadable"],
  ],
])("the problems if %s", (_rule, observed, problems) => {
  expect(presentProblems({ secret: "valid", isInUse: true, former: [], ...observed })).toEqual(
    problems,
  );
});

test.each([
  ["webhook", "restart kube-apiserver with its files"],
  ["gateway", "give them ca.crt of the Secret"],
] as const)("a changed CA of the %s is reported to those who trust it", (server, fix) => {
  const { name } = certificateSecrets[server];
  const sentence = certificateProblemSentence("ca-changed", name);
  expect(sentence).toContain(`the CA in Secret ${name} changed`);
  expect(sentence).toContain(fix);
});
