// Judges a description by the published schema of OpenAPI.
import { readFile } from "node:fs/promises";
import { Validator } from "@seriousme/openapi-schema-validator";

const validator = new Validator();
const result = await validator.validate(JSON.parse(await readFile(process.argv[2], "utf8")));
if (!result.valid || validator.version !== "3.1") {
  console.error(validator.version, JSON.stringify(result.errors, null, 1));
  process.exit(1);
}
