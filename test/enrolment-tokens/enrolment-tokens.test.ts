import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileStorage, systemCaller } from "fleetwright";
import type { EnrolmentToken, Page } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { serve } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const error = (code: string): Error => expect.objectContaining({ code }) as Error;
const introduction = {
  node_id: "1".repeat(32),
  public_key: "1".repeat(64),
  box_public_key: "0".repeat(64),
  hostname: "machine",
  platform: "linux",
  agent_version: "1.0.0",
  remote_address: null,
};

describe("enrolment tokens", () => {
  it("are told once, with what they are for; later everything is shown but the token", async () => {
    await using test = await createTestOrchestrator();
    const { enrolmentTokens } = test.orchestrator;
    const { token, ...made } = await enrolmentTokens.create(systemCaller, {
      name: "web",
      uses: 50,
      expires_in_seconds: 3_600,
      tags: { role: "web" },
    });
    expect(token).toMatch(/^fwt_[A-Za-z0-9_-]{43}$/);
    expect(made).toMatchObject({
      name: "web",
      status: "active",
      uses: 50,
      used: 0,
      tags: { role: "web" },
      created_by: "system",
      version: 1,
    });
    expect(Date.parse(made.expires_at) - Date.parse(made.created_at)).toBe(3_600_000);
    expect(await enrolmentTokens.get(systemCaller, { id: made.id })).toEqual(made);
    expect(await enrolmentTokens.list(systemCaller)).toEqual({ items: [made], next_cursor: null });
  });

  it("last as long as was said, to the millisecond, however late the clock is read again", async () => {
    let now = Date.UTC(2030, 0, 1);
    const clock = Object.assign(new FakeClock(now), { now: () => (now += 1) });
    await using test = await createTestOrchestrator({ clock });
    const made = await test.orchestrator.enrolmentTokens.create(systemCaller, { expires_in_seconds: 60 });
    expect(Date.parse(made.expires_at) - Date.parse(made.created_at)).toBe(60_000);
  });

  it("are for one machine and a day where nothing is said", async () => {
    await using test = await createTestOrchestrator();
    const made = await test.orchestrator.enrolmentTokens.create(systemCaller);
    expect(made).toMatchObject({ uses: 1, tags: {} });
    expect(Date.parse(made.expires_at) - Date.parse(made.created_at)).toBe(86_400_000);
    expect(made).not.toHaveProperty("name");
  });

  it("are listed newest first, page by page", async () => {
    await using test = await createTestOrchestrator();
    const { enrolmentTokens } = test.orchestrator;
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.unshift((await enrolmentTokens.create(systemCaller)).id);
    const listed: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Page<EnrolmentToken> = await enrolmentTokens.list(systemCaller, {
        limit: 2,
        ...(cursor !== null && { cursor }),
      });
      listed.push(...page.items.map(({ id }) => id));
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(listed).toEqual(ids);
  });

  it.each([
    ["no machine", { uses: 0 }],
    ["half a machine", { uses: 1.5 }],
    ["too many machines", { uses: 100_001 }],
    ["no time", { expires_in_seconds: 0 }],
    ["more than a year", { expires_in_seconds: 31_536_001 }],
    ["a name of two lines", { name: "a\nb" }],
    ["a name of nothing", { name: "" }],
    ["a name of more than a hundred characters", { name: "n".repeat(101) }],
    ["a tag that can be none", { tags: { "1": "x" } }],
    ["a field that there is not", { token: "fwt_mine" }],
  ])("are refused for %s", async (_, input) => {
    await using test = await createTestOrchestrator();
    await expect(test.orchestrator.enrolmentTokens.create(systemCaller, input as object)).rejects.toThrow(
      error("VALIDATION_FAILED"),
    );
  });

  it("are made with as much of everything as may be asked for", async () => {
    await using test = await createTestOrchestrator();
    const most = { name: "n".repeat(100), uses: 100_000, expires_in_seconds: 31_536_000 };
    const { name, uses, expires_at, created_at } = await test.orchestrator.enrolmentTokens.create(
      systemCaller,
      most,
    );
    expect({
      name,
      uses,
      expires_in_seconds: (Date.parse(expires_at) - Date.parse(created_at)) / 1_000,
    }).toEqual(most);
  });

  it("are revoked once, and that is told", async () => {
    await using test = await createTestOrchestrator();
    const { enrolmentTokens } = test.orchestrator;
    const { id } = await enrolmentTokens.create(systemCaller, { name: "web" });
    await expect(enrolmentTokens.revoke(systemCaller, { id }, { ifVersion: [7] })).rejects.toThrow(
      error("PRECONDITION_FAILED"),
    );
    await enrolmentTokens.revoke(systemCaller, { id });
    await expect(enrolmentTokens.revoke(systemCaller, { id })).rejects.toThrow(error("INVALID_TRANSITION"));
    expect(await enrolmentTokens.get(systemCaller, { id })).toMatchObject({ status: "revoked" });
    const told = test.events.filter(({ event_type }) => event_type === "enrolmentToken.revoked");
    expect(told).toMatchObject([{ target: { id, name: "web" }, metadata: { used: 0, uses: 1 } }]);
    const nobody = { id: "01b8dac6-40a0-7432-8e33-ef18f45fc15c" };
    await expect(enrolmentTokens.revoke(systemCaller, nobody)).rejects.toThrow(error("NOT_FOUND"));
  });

  it("are remembered for 30 days after they expire, and then forgotten as new ones are made", async () => {
    await using test = await createTestOrchestrator();
    const { enrolmentTokens } = test.orchestrator;
    const old = await enrolmentTokens.create(systemCaller, { expires_in_seconds: 60 });
    await test.clock.advance(30 * 86_400_000 + 59_000);
    await enrolmentTokens.create(systemCaller, { expires_in_seconds: 1 });
    expect(await enrolmentTokens.get(systemCaller, { id: old.id })).toMatchObject({ status: "expired" });
    await test.clock.advance(2_000);
    await enrolmentTokens.create(systemCaller);
    await expect(enrolmentTokens.get(systemCaller, { id: old.id })).rejects.toThrow(error("NOT_FOUND"));
    expect((await enrolmentTokens.list(systemCaller)).items).toHaveLength(2);
  });

  it.each([2, 8, 20])(
    "%i that ended long ago are all forgotten by the time a third as many are made",
    async (count) => {
      await using test = await createTestOrchestrator();
      const { enrolmentTokens } = test.orchestrator;
      for (let number = 0; number < count; number += 1) await enrolmentTokens.create(systemCaller);
      await test.clock.advance(32 * 86_400_000);
      const made = Math.ceil(count / 3);
      for (let number = 0; number < made; number += 1) await enrolmentTokens.create(systemCaller);
      expect((await enrolmentTokens.list(systemCaller)).items).toHaveLength(made);
    },
  );

  it("are nowhere but in the answer: not in the storage, an event, an audit entry or the answer to a repetition", async () => {
    const folder = temporaryFolder();
    const storage = new FileStorage({ folder });
    await using test = await createTestOrchestrator({ storage });
    await using server = await serve(test.orchestrator);
    const { token: session } = await test.signIn("Operator");
    const call = {
      method: "POST",
      path: "/api/v1/enrolment-tokens",
      headers: {
        authorization: `Bearer ${session}`,
        "content-type": "application/json",
        "idempotency-key": "once",
      },
      body: JSON.stringify({ uses: 3 }),
    };
    const first = await server.call(call);
    expect(first.status).toBe(201);
    const { token, id } = first.json as { token: string; id: string };
    const again = await server.call(call);
    expect([again.status, again.json]).toMatchObject([409, { code: "IDEMPOTENCY_ANSWER_UNKNOWN" }]);
    expect((await test.orchestrator.enrolmentTokens.list(systemCaller)).items).toHaveLength(1);
    const { enrolment } = servicesOf(test.orchestrator).agents;
    await enrolment.admit({ ...introduction, enrolment_token: token });
    await enrolment.admit({ ...introduction, node_id: "2".repeat(32), enrolment_token: `${token}x` });
    const told = JSON.stringify([
      test.events,
      server.logger.lines,
      await test.orchestrator.audit.list(systemCaller),
      await test.orchestrator.enrolmentTokens.list(systemCaller),
      again.text,
    ]);
    await test.orchestrator.stop();
    const kept = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
      .join();
    for (const text of [told, kept]) {
      expect(text).toContain(id);
      expect(text).not.toContain(token.slice(4, 24));
    }
  });
});
