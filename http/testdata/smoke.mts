// A program that uses the client that is generated from the description.
import createClient from "openapi-fetch";
import type { paths, components } from "./api.d.ts";

declare const process: { argv: string[] };
const [baseUrl, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

const asked = await client.POST("/api/v1/generations", {
  body: { prompt: "a lighthouse", n: 2 },
  params: { header: { "Idempotency-Key": "smoke" } },
});
const images: components["schemas"]["Image"][] = asked.data?.images ?? [];
if (images.length !== 2) throw new Error(`asked for 2 images: ${JSON.stringify(asked.error)}`);

const changed = await client.GET("/api/v1/history", { params: { query: { limit: 10 } } });
if (changed.data?.items.length !== 2 || !changed.data.cursor) throw new Error("the history lacks them");

const marked = await client.PATCH("/api/v1/images/{id}", {
  params: { path: { id: images[0].id } },
  body: { favorite: true },
});
if (marked.data?.favorite !== true) throw new Error("it was not marked");

const refused = await client.GET("/api/v1/images", { params: { query: { limit: 0 } } });
const code: components["schemas"]["Problem"]["code"] | undefined = refused.error?.code;
if (code !== "invalid_field") throw new Error(`the code is ${code}`);
console.log("ok");
