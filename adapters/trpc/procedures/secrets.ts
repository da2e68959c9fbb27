import { schemas } from "fleetwright";
import type { Secret } from "fleetwright";
import { procedure, route, t, versionOf } from "./builder.ts";

const tag = "Secret";

export const secretProcedures = t.router({
  list: procedure
    .meta(
      route("secrets.list", "GET /secrets", {
        tag,
        summary: "List all secrets (metadata only)",
        description: "By name: what each is for, who may get it and what uses it. No value is ever told.",
        problems: ["CURSOR_INVALID"],
      }),
    )
    .input(schemas.listSecretsInput)
    .output(schemas.secretPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.secrets.list(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("secrets.get", "GET /secrets/{name}", {
        tag,
        summary: "Get one secret's metadata",
        description: "Everything but its value.",
        rest: { version: versionOf },
      }),
    )
    .input(schemas.secretNameInput)
    .output(schemas.secretSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.secrets.get(await ctx.caller(), input)),
  create: procedure
    .meta(
      route("secrets.create", "POST /secrets", {
        tag,
        summary: "Create a secret",
        description:
          "It is encrypted before it is stored, and decrypted on the agents that need it alone. Over plain HTTP from another machine it is refused, unless a trusted proxy says that it came over TLS.",
        problems: ["ALREADY_EXISTS", "SELECTOR_INVALID", "SECRETS_KEY_MISSING", "INSECURE_CONNECTION"],
        rest: { status: 201, location: ({ name }: Secret) => `/secrets/${name}`, version: versionOf },
      }),
    )
    .input(schemas.createSecretInput)
    .output(schemas.secretSchema)
    .mutation(async ({ ctx, input }) => {
      ctx.assertPrivate();
      return ctx.orchestrator.secrets.create(await ctx.caller(), input);
    }),
  update: procedure
    .meta(
      route("secrets.update", "PUT /secrets/{name}", {
        tag,
        summary: "Update a secret",
        description:
          "What is absent stays. A new value is on machines after their next apply; `GET /agents?secret_before=name@version` finds the agents that still have an older one. Over plain HTTP from another machine it is refused, unless a trusted proxy says that it came over TLS.",
        problems: ["SELECTOR_INVALID", "SECRETS_KEY_MISSING", "INSECURE_CONNECTION"],
        rest: { conditional: true, version: versionOf },
      }),
    )
    .input(schemas.updateSecretInput)
    .output(schemas.secretSchema)
    .mutation(async ({ ctx, input }) => {
      ctx.assertPrivate();
      return ctx.orchestrator.secrets.update(await ctx.caller(), input, ctx.change());
    }),
  remove: procedure
    .meta(
      route("secrets.remove", "DELETE /secrets/{name}", {
        tag,
        summary: "Delete a secret",
        description: "With all its values. Machines keep what was put there with it.",
        problems: ["IN_USE"],
        rest: { conditional: true },
      }),
    )
    .input(schemas.secretNameInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.secrets.remove(await ctx.caller(), input, ctx.change()),
    ),
  rotateKey: procedure
    .meta(
      route("secrets.rotateKey", "POST /secrets-key/rotate", {
        tag,
        summary: "Encrypt all secrets with another key",
        description:
          "Makes a key where the server keeps it itself, or takes the newest that it was given, and encrypts every value anew. Called again after a break it goes on.",
        problems: ["SECRETS_KEY_MISSING", "INVALID_TRANSITION", "STORAGE_CORRUPT"],
      }),
    )
    .output(schemas.rotatedKeySchema)
    .mutation(async ({ ctx }) => ctx.orchestrator.secrets.rotateKey(await ctx.caller())),
});
