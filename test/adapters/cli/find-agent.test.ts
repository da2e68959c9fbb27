/** Which machine is meant by what somebody types, where many have names that begin alike. */
import { expect, it } from "vitest";
import type { Agent } from "fleetwright";
import { UsageError } from "../../../adapters/cli/failure.ts";
import { findAgent } from "../../../adapters/cli/find-agent.ts";
import type { Client } from "../../../adapters/client/client.ts";

type Machine = Pick<Agent, "node_id" | "hostname"> & { name?: string };

/** Lists machines in pages of so many, as the server finds them: by name, by what stands in it or in the hostname, by the beginning of the id. */
function clientOf(machines: readonly Machine[], size: number): Client {
  const list = async ({ name, search, id_prefix, cursor = "0" }: Record<string, string>) => {
    const all = machines.filter(
      (each) =>
        (name === undefined || each.name?.toLowerCase() === name.toLowerCase()) &&
        (search === undefined || `${each.name ?? ""} ${each.hostname}`.includes(search)) &&
        (id_prefix === undefined || each.node_id.startsWith(id_prefix)),
    );
    const end = Number(cursor) + size;
    return { items: all.slice(Number(cursor), end), next_cursor: end < all.length ? String(end) : null };
  };
  return { agents: { list } } as unknown as Client;
}

const machine = (number: number, hostname: string, name?: string): Machine => ({
  node_id: `${String(number).padStart(8, "0")}${"a".repeat(24)}`,
  hostname,
  ...(name !== undefined && { name }),
});
const others = Array.from({ length: 7 }, (_, at) => machine(at + 100, `web-${at}`));

it.each([1, 2, 3, 8, 500])(
  "a hostname that two machines have means neither, wherever in the list they are, in pages of %i",
  async (size) => {
    for (let first = 0; first <= others.length; first += 1)
      for (let second = first; second <= others.length; second += 1) {
        const machines = others
          .toSpliced(second, 0, machine(2, "web"))
          .toSpliced(first, 0, machine(1, "web"));
        const found = findAgent(clientOf(machines, size), "web");
        await expect(found, `${first} ${second}`).rejects.toThrow("More than one machine is called web");
        await expect(found).rejects.toBeInstanceOf(UsageError);
      }
  },
);

it.each([1, 2, 3, 8, 500])(
  "a hostname of one finds it, wherever in the list it is, in pages of %i",
  async (size) => {
    for (let at = 0; at <= others.length; at += 1) {
      const one = machine(1, "web", "of-another-name");
      expect(await findAgent(clientOf(others.toSpliced(at, 0, one), size), "web")).toBe(one);
    }
  },
);

it("a name counts before a hostname, and only as it is written", async () => {
  const [named, other] = [machine(1, "a", "web"), machine(2, "web", "b")];
  expect(await findAgent(clientOf([other, named], 1), "web")).toBe(named);
  expect(await findAgent(clientOf([machine(1, "a", "Web"), other], 1), "web")).toBe(other);
});

it("eight digits and more find the one whose id begins so, fewer find none, and several are told", async () => {
  const client = clientOf([machine(12_345_678, "a"), machine(12_345_679, "b"), machine(12_345_679, "c")], 6);
  expect(await findAgent(client, "12345678")).toMatchObject({ hostname: "a" });
  await expect(findAgent(client, "1234567")).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(findAgent(client, "12345679")).rejects.toThrow(
    /More than one agent begins with .*\(b\).*\(c\)/,
  );
});

it.each([1, 63, 64, 65, 99, 100, 101, 1_000])(
  "a word of %i characters is looked for as far as the server can, and is no agent where it can't",
  async (length) => {
    const word = "x".repeat(length);
    const list = async ({ name, search, ...query }: { name?: string; search?: string }) => {
      // As the server refuses them.
      if ((name?.length ?? 0) > 64 || (search?.length ?? 0) > 100) throw new UsageError("refused");
      return clientOf([machine(1, length <= 100 ? word : "web")], 500).agents.list({
        ...query,
        name,
        search,
      } as object);
    };
    const found = findAgent({ agents: { list } } as unknown as Client, word);
    if (length <= 100) expect(await found).toMatchObject({ hostname: word });
    else await expect(found).rejects.toThrow("There is no agent");
  },
);
