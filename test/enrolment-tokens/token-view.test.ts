/** What people see of a token. */
import { expect, test } from "vitest";
import { statusOf, toEnrolmentToken } from "../../lib/enrolment-tokens/token-view.ts";

const at = "2030-01-01T00:00:00.000Z";
const token = {
  id: "0197a5b4-6d1e-7c3a-9f00-000000000001",
  hash: "0".repeat(64),
  uses: 2,
  used: 0,
  tags: { env: "prod" },
  ends_ms: 1000,
  expires_at: at,
  created_at: at,
  created_by: "ann",
};

/** Why it approves nobody, the first that holds counts: what somebody decided, then what was done, then time. */
const reasons = [
  ["revoked", { revoked_at: at }, 0],
  ["used_up", { used: 2 }, 0],
  ["expired", {}, 1000],
] as const;

test.each([1, 2, 3, 4, 5, 6, 7])("of several reasons, %i as bits, the first is told", (bits) => {
  const holding = reasons.filter((_, at) => (bits & (1 << at)) !== 0);
  const value = Object.assign({}, token, ...holding.map(([, more]) => more)) as typeof token;
  expect(statusOf(value, Math.max(...holding.map(([, , nowMs]) => nowMs)))).toBe(holding[0]?.[0]);
});

test("it is active to its last use and its last moment", () => {
  expect(statusOf({ ...token, used: 1 }, 999)).toBe("active");
});

test("what is shown is nobody else's: neither secret nor the tags that are kept", () => {
  const shown = toEnrolmentToken({ value: token, revision: 3 }, 0);
  expect(shown).toMatchObject({ tags: token.tags, status: "active", version: 3 });
  expect(shown).not.toHaveProperty("hash");
  expect(shown).not.toHaveProperty("ends_ms");
  expect(shown.tags).not.toBe(token.tags);
});
