/** The measure of lists: 100 agents written as JSON with each request, by plain node:http; as many bytes as the product answers with. */
import type { ServerUnderTest } from "../server-process.ts";
import { agent, headers } from "./toy.ts";

/** The page that is listed. */
export const page = {
  items: Array.from({ length: 100 }, (_, n) => ({
    ...agent,
    name: `web-${String(n).padStart(4, "0")}`,
    public_key: "0".repeat(64),
    remote_address: "192.0.2.1",
  })),
  next_cursor: "x".repeat(60),
};

export default async function create(): Promise<ServerUnderTest> {
  return {
    path: "/api/v1/agents?limit=100",
    headers,
    listener(_request, response) {
      const body = JSON.stringify(page);
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      });
      response.end(body);
    },
  };
}
