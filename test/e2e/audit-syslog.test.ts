/** The audit log of a real server, forwarded to a log server through TLS that goes away, comes back, and shows certificates that are not its own. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Client } from "fleetwright/client";
import { createCertificate } from "../support/certificate.ts";
import { eventually, startServerProcess } from "../support/processes.ts";
import { SyslogCollector } from "../support/syslog.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const priorityOfAudit = 13 * 8;

/** Places, hashes and ids of the audit log from an event of a type on. */
async function recorded(client: Client, from: string): Promise<[number, string, string][]> {
  const { items } = await client.audit.list({ order: "asc", limit: 500 });
  const first = items.findIndex(({ event_type }) => event_type === from);
  return items.slice(first).map(({ sequence, hash, id }): [number, string, string] => [sequence, hash, id]);
}

/** The same as the log server was told. */
function collected({ messages }: SyslogCollector): [number, string, string][] {
  return messages.map(({ params }) => {
    const { sequence, hash } = JSON.parse(params["data"] ?? "") as { sequence: number; hash: string };
    return [sequence, hash, params["id"] ?? ""];
  });
}

it(
  "tells each event once and in order, and nothing to a server with another certificate",
  { timeout: 180_000 },
  async () => {
    const folder = temporaryFolder();
    const [own, elsewhere, forged] = await Promise.all([
      createCertificate(),
      createCertificate("DNS:elsewhere.example"),
      createCertificate(),
    ]);
    const authorities = join(folder, "authorities.pem");
    writeFileSync(authorities, `${own.cert}\n${elsewhere.cert}\n`);
    const dataDir = join(folder, "data");
    const start = (port = 0) =>
      startServerProcess(dataDir, port, { NODE_EXTRA_CA_CERTS: authorities }, [
        "--channel-networks",
        "127.0.0.1",
      ]);
    await using collector = new SyslogCollector();
    await collector.start(own);
    await using server = await start();
    let { client } = server;
    const { id } = await client.channels.create({
      name: "log",
      type: "syslog",
      source: "audit",
      config: { host: "127.0.0.1", port: collector.port, facility: "audit" },
    });
    let days = 100;
    const change = async (times: number): Promise<void> => {
      for (let time = 0; time < times; time += 1)
        await client.audit.setRetention({ retention_days: (days += 1) });
    };
    const toldAll = () =>
      eventually("the log server has everything", async () => {
        const all = await recorded(client, "channel.created");
        const { forwarded_sequence } = await client.channels.get(id);
        return forwarded_sequence === all.at(-1)?.[0] && collector.messages.length >= all.length;
      });
    const fails = (error: string) =>
      eventually(`it is told that ${error}`, async () => {
        const { last_delivery } = await client.channels.get(id);
        return last_delivery?.delivered === false && last_delivery.error === error;
      });

    await change(5);
    await toldAll();
    await collector.stop();
    await change(3);
    await fails("the connection was refused");
    await collector.start(own);
    await toldAll();
    const before = collector.messages.length;
    for (const [{ cert, key }, error] of [
      [elsewhere, "the certificate is of another host"],
      [forged, "the certificate is not trusted"],
    ] as const) {
      await collector.stop();
      await collector.start({ cert, key });
      await change(1);
      await fails(error);
      expect(collector.messages).toHaveLength(before);
    }
    await server.program.end("SIGKILL");
    await collector.stop();
    await collector.start(own);
    await using again = await start(Number(new URL(server.url).port));
    ({ client } = again);
    await change(2);
    await toldAll();
    expect(collected(collector)).toEqual(await recorded(client, "channel.created"));
    expect(collector.messages.map(({ head }) => head[0])).toContain(priorityOfAudit + 6);
    expect(await client.audit.verify()).toMatchObject({ valid: true });
  },
);
