/** A real server that is told to stop while calls wait, streams are read and requests run: everybody gets an answer. */
import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { eventually, startFleetMember, startServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const slow = `name: slow
resources: [{ id: wait, type: script, run: sleep 60, check: "false" }]
`;

test(
  "SIGTERM: waiting calls are answered with the state so far, streams end, new requests get 503 until the last answer is out",
  { timeout: 120_000 },
  async () => {
    const folder = temporaryFolder();
    await using server = await startServerProcess(join(folder, "data"));
    await using agent = await startFleetMember(join(folder, "web-1"), server);
    const { client, url, program } = server;
    await client.modules.upload({ content: slow });
    await client.assignments.create({ name: "all", selector: "*", modules: ["slow"] });

    const applying = client.state.apply(agent.nodeId, { modules: ["slow"], wait_seconds: 300 });
    const rollingOut = client.request<{ status: string }>("POST", "/assignments/all/apply", {
      body: { wait_seconds: 300 },
    });
    const stream = await client.request<ReadableStream<Uint8Array>>("GET", "/events", { asStream: true });
    const streamed = new Response(stream).text();
    await eventually("both run", async () => {
      const { items } = await client.operations.list({ node_id: agent.nodeId });
      return items.length >= 2 && items.some(({ status }) => status === "running");
    });

    // Answers that a slow reader takes when it wants hold the server open.
    const port = Number(new URL(url).port);
    const slowReader = connect(port, "127.0.0.1").pause();
    await once(slowReader, "connect");
    const asked = 60;
    slowReader.write("GET /api/v1/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n".repeat(asked));
    const upgrade = (): WebSocket => new WebSocket(`${url.replace("http", "ws")}/agent/v1`);
    // A keep-alive connection that was used.
    const keptAlive = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await ask(`${url}/readyz`, keptAlive)).status).toBe(200);

    const exited = program.end("SIGTERM");
    await eventually(
      "new requests are refused",
      async () => (await ask(`${url}/api/v1/status`)).status === 503,
    );
    for (const path of ["/api/v1/status", "/readyz", "/docs", "/trpc/status.get"]) {
      const refused = await ask(`${url}${path}`);
      expect([path, refused.status, refused.headers["connection"]]).toEqual([path, 503, "close"]);
      expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    }
    expect((await ask(`${url}/livez`)).status).toBe(200);
    // On the connection that was kept: answered there, and ended.
    expect(await ask(`${url}/api/v1/status`, keptAlive)).toMatchObject({
      status: 503,
      headers: { connection: "close" },
    });
    const [refusal] = (await once(upgrade(), "error")) as [Error];
    expect(refusal.message).toContain("503");

    expect((await applying).status).toBe("running");
    expect((await rollingOut).status).toBe("running");
    expect(await streamed).toContain("data: ");
    let taken = "";
    slowReader.setEncoding("utf8").on("data", (piece: string) => (taken += piece));
    await once(slowReader.resume(), "close");
    expect(taken.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(asked);
    expect(taken.trimEnd().endsWith("}")).toBe(true);
    keptAlive.destroy();
    expect(await exited).toBe(0);
    await expect(ask(`${url}/livez`)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  },
);

interface Answer {
  status: number;
  headers: Record<string, unknown>;
}

async function ask(url: string, agent?: Agent): Promise<Answer> {
  const asked = request(url, { agent: agent ?? false }).end();
  const [response] = (await once(asked, "response")) as [
    { statusCode: number; headers: Record<string, unknown>; resume(): void },
  ];
  response.resume();
  await once(response as never, "end");
  return { status: response.statusCode, headers: response.headers };
}
