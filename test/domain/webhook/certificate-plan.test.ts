import { describe, expect, test } from "vitest";
import {
  type CertificateValidities,
  dueCertificates,
  renewalInstant,
} from "../../../src/domain/webhook/certificate-plan.ts";

const lives: CertificateValidities = {
  authority: { startsAt: 0, endsAt: 3000 },
  serving: { startsAt: 0, endsAt: 300 },
  client: { startsAt: 60, endsAt: 360 },
};

test("a certificate is renewed when a third of its life is left", () => {
  expect(renewalInstant({ startsAt: 60, endsAt: 360 })).toBe(260);
});

describe("due are", () => {
  test.each<[number, readonly string[]]>([
    [199, []],
    [200, ["serving"]],
    [260, ["serving", "client"]],
    // What a former authority has signed is signed anew.
    [2000, ["authority", "serving", "client"]],
  ])("at %i: %j", (now, due) => {
    expect(dueCertificates(lives, now)).toEqual(due);
  });

  test("all of them with a new authority, however young", () => {
    expect(
      dueCertificates(
        {
          ...lives,
          serving: { startsAt: 2000, endsAt: 9000 },
          client: { startsAt: 2000, endsAt: 9000 },
        },
        2000,
      ),
    ).toEqual(["authority", "serving", "client"]);
  });
});
