import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { ApiError, createClient } from "fleetwright/client";
import type { Fetch } from "fleetwright/client";
import { createKeyFile } from "fleetwright/client/node";
import { startServer } from "fleetwright/h3";
import { deferred } from "../../support/deferred.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe("a client with a key", () => {
  it("signs in by itself, once for calls that come together", async () => {
    const { url, signer, server } = await startTestServer();
    const tokens: string[] = [];
    const client = createClient({ url, signer, onToken: (token) => tokens.push(token) });
    const [modules, session] = await Promise.all([client.modules.list(), client.auth.session()]);
    expect(modules).toEqual({ items: [], next_cursor: null });
    expect(session.operator.role).toBe("Admin");
    expect(tokens).toEqual([expect.stringMatching(/^fw_/)]);
    expect(server.url).toBe(url);
  });

  it("waits for what hears of its tokens, and fails with it", async () => {
    const { url, signer } = await startTestServer();
    const fault = new Error("no space");
    const onToken = (): Promise<void> => Promise.reject(fault);
    await expect(createClient({ url, signer, onToken }).agents.list()).rejects.toBe(fault);
  });

  it("uses no token that nobody could keep", async () => {
    const { url, signer } = await startTestServer();
    const told: string[] = [];
    const onToken = (token: string): void => {
      if (told.push(token) === 1) throw new Error("no space");
    };
    const client = createClient({ url, signer, onToken });
    await expect(client.agents.list()).rejects.toThrow("no space");
    await expect(createClient({ url, token: told[0]! }).agents.list()).rejects.toMatchObject({ status: 401 });
    await client.agents.list();
    expect(told).toHaveLength(2);
  });

  it.each([
    ["https://ada:secret@fleet.example", "must not name a user"],
    ["https://secret@fleet.example", "must not name a user"],
    ["https://fleet.example/?secret", "no query and no fragment"],
    ["https://fleet.example/#secret", "no query and no fragment"],
    ["https://fleet.example/?", "no query and no fragment"],
  ])("is not made for %s, and does not repeat it", (url, reason) => {
    const making = () => createClient({ url });
    expect(making).toThrow(TypeError);
    expect(making).toThrow(reason);
    expect(making).not.toThrow(/secret/);
  });

  it.each([
    [{ tokn: "fw_secret" }, "tokn", "token"],
    [{ timeoutMs: 5, orchestratorPublicKey: "00" }, "timeoutMs, orchestratorPublicKey", "orchestratorKey"],
    [{ retry: { atempts: 1 } }, "retry.atempts", "attempts"],
  ])("is not made with %o, which has an option that there is not", (given: object, named, meant) => {
    const making = () => createClient({ url: "http://a", ...given });
    expect(making).toThrow(TypeError);
    expect(making).toThrow(`createClient has no option ${named}. There are: `);
    expect(making).toThrow(meant);
    expect(making).not.toThrow(/secret/);
  });

  it("works in a page without a secure context, which has no crypto.randomUUID", async () => {
    const { url, signer } = await startTestServer();
    const { randomUUID } = crypto;
    onTestFinished(() => void Object.assign(crypto, { randomUUID }));
    Object.assign(crypto, { randomUUID: undefined });
    const client = createClient({ url, signer });
    const operator = await client.operators.add({ username: "ada", public_key: otherKey(), role: "Viewer" });
    expect(operator).toMatchObject({ username: "ada" });
  });

  it("signs in again when its session has ended, and sends the call again", async () => {
    const { url, signer } = await startTestServer();
    const client = createClient({ url, signer, token: "fw_gone" });
    const operator = await client.operators.add({ username: "ada", public_key: otherKey(), role: "Viewer" });
    expect(operator).toMatchObject({ username: "ada", role: "Viewer" });
    expect((await client.operators.list()).items).toHaveLength(2);
  });

  it("signs in once where the session of two calls has ended, and one hears of it after the other signed in", async () => {
    const { url, signer } = await startTestServer();
    const signedIn = deferred<void>();
    const late: Fetch = async (target, init) => {
      const answer = await fetch(target, init);
      if (target.endsWith("/modules") && answer.status === 401) await signedIn.promise;
      return answer;
    };
    const tokens: string[] = [];
    const onToken = (token: string): void => void tokens.push(token);
    const client = createClient({ url, signer, token: "fw_gone", fetch: late, onToken });
    const modules = client.modules.list();
    await client.auth.session();
    signedIn.resolve();
    expect(await modules).toEqual({ items: [], next_cursor: null });
    expect(tokens).toHaveLength(1);
  });

  it("signs in anew with the next call where a sign-in failed", async () => {
    const { url, signer } = await startTestServer();
    let isAway = true;
    const fetchOnceBack: Fetch = (target, init) =>
      isAway ? Promise.reject(new TypeError("fetch failed")) : fetch(target, init);
    const client = createClient({ url, signer, fetch: fetchOnceBack, retry: { attempts: 1 } });
    await expect(client.modules.list()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    isAway = false;
    expect(await client.modules.list()).toEqual({ items: [], next_cursor: null });
  });

  it("signs in again to the orchestrator of its first session alone", async () => {
    const { url, signer } = await startTestServer();
    const other = await startTestServer();
    let at = url;
    const shared: Fetch = (target, init) => fetch(target.replace("http://fleet.example", at), init);
    const client = createClient({ url: "http://fleet.example", signer, fetch: shared });
    await client.signIn();
    at = other.url;
    await expect(client.signIn()).rejects.toMatchObject({ code: "ORCHESTRATOR_KEY_CHANGED" });
  });

  it("does so once for each call, so that a key that lost its access is told", async () => {
    const { url, server } = await startTestServer();
    const signer = createKeyFile(join(temporaryFolder(), "key"));
    const { operator_id } = await server.orchestrator.operators.add(systemCaller, {
      username: "ada",
      public_key: signer.publicKey,
    });
    const client = createClient({ url, signer });
    await client.auth.session();
    await server.orchestrator.operators.remove(systemCaller, { operator_id });
    const error = await client.auth.session().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 401 });
  });

  it("ends its session when it signs out", async () => {
    const { url, signer } = await startTestServer();
    const client = createClient({ url, signer });
    const { token } = await client.signIn();
    await client.signOut();
    await expect(createClient({ url, token }).auth.session()).rejects.toMatchObject({
      code: "UNAUTHENTICATED",
    });
  });
});

describe("a client without a key", () => {
  it("may ask what anyone may, and is refused the rest with the server's problem", async () => {
    const { url } = await startTestServer();
    const client = createClient({ url });
    expect(await client.status.get()).toMatchObject({ status: "ok" });
    await expect(client.agents.list()).rejects.toMatchObject({
      status: 401,
      code: "UNAUTHENTICATED",
      problem: { type: "/problems/unauthenticated", request_id: expect.any(String) },
    });
  });
});

describe("an error of the client", () => {
  it("tells each fault of a module with its place", async () => {
    const { url, signer } = await startTestServer();
    const client = createClient({ url, signer });
    const error = await client.modules
      .upload({ content: "name: web\nresources:\n  - { type: file, path: srv }\n  - { type: nope }\n" })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "MODULE_INVALID", status: 400 });
    const faults = (error as ApiError).problem.errors ?? [];
    expect(faults.map(({ line }) => line)).toEqual(expect.arrayContaining([3, 4]));
  });

  it("names the server that can't be reached", async () => {
    const { url, server } = await startTestServer();
    await server.close();
    await expect(createClient({ url }).status.get()).rejects.toMatchObject({
      status: 0,
      code: "UNAVAILABLE",
      message: `${url} can't be reached (ECONNREFUSED).`,
    });
  });

  it("is made up where something else than the server answers", async () => {
    const gateway: Fetch = () => Promise.resolve(new Response("<h1>Bad gateway</h1>", { status: 502 }));
    const client = createClient({ url: "http://127.0.0.1:1", fetch: gateway });
    await expect(client.status.get()).rejects.toMatchObject({ status: 502, code: "PEER_ERROR" });
  });
});

describe("a path", () => {
  it("takes what a caller puts into it as one part", async () => {
    const asked: string[] = [];
    const record: Fetch = (url) => {
      asked.push(url);
      return Promise.resolve(new Response(null, { status: 204 }));
    };
    const client = createClient({ url: "http://127.0.0.1:1/", token: "fw_x", fetch: record });
    await client.tags.remove("../operators", { key: "a/b?c" });
    expect(asked).toEqual(["http://127.0.0.1:1/api/v1/agents/..%2Foperators/tags/a%2Fb%3Fc"]);
  });
});

async function startTestServer() {
  const signer = createKeyFile(join(temporaryFolder(), "key"));
  const server = await startServer({
    storage: new MemoryStorage(),
    adminPublicKeys: [signer.publicKey],
    listen: { port: 0 },
  });
  onTestFinished(() => server.close());
  return { url: server.url, signer, server };
}

function otherKey(): string {
  return createKeyFile(join(temporaryFolder(), "other")).publicKey;
}
