/** How each ORM of `docs/recipes/orms.md` is set up: what its block there uses, and `close`. */
export interface OrmSetup {
  readonly imports: string;
  /** Defines `db`, and what the block names besides. */
  readonly open: string;
  readonly close: string;
}

/** The set-ups, by the comment that begins the block. */
export const ORMS: Readonly<Record<string, OrmSetup>> = {
  "Kysely": {
    imports: `import { Kysely, PostgresDialect } from "kysely";`,
    open: `
      const dialect = new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) });
      const db = new Kysely<{ invoices: { id: number; status: string } }>({ dialect });`,
    close: "await db.destroy();",
  },
  "Drizzle": {
    imports: `import { drizzle } from "drizzle-orm/node-postgres";
      import { eq } from "drizzle-orm";
      import { integer, pgTable, text } from "drizzle-orm/pg-core";`,
    open: `
      const pool = new pg.Pool({ connectionString: url });
      const invoices = pgTable("invoices", { id: integer().primaryKey(), status: text() });
      const db = drizzle(pool);`,
    close: "await pool.end();",
  },
  "Knex": {
    imports: `import knex from "knex";`,
    open: `const db = knex({ client: "pg", connection: url });`,
    close: "await db.destroy();",
  },
  "TypeORM": {
    imports: `import { DataSource, EntitySchema } from "typeorm";`,
    open: `
      const Invoice = new EntitySchema<{ id: number; status: string }>({
        name: "Invoice",
        tableName: "invoices",
        columns: { id: { type: Number, primary: true }, status: { type: String } },
      });
      const db = await new DataSource({ type: "postgres", url, entities: [Invoice] }).initialize();`,
    close: "await db.destroy();",
  },
  "Prisma": {
    imports: `import { PrismaPg } from "@prisma/adapter-pg";
      import { PrismaClient } from "./prisma/client.ts";`,
    open: `const db = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });`,
    close: "await db.$disconnect();",
  },
  "Sequelize": {
    imports: `import { DataTypes, Sequelize } from "sequelize";`,
    open: `
      const db = new Sequelize(url, { logging: false });
      const columns = { id: { type: DataTypes.INTEGER, primaryKey: true }, status: DataTypes.TEXT };
      const Invoice = db.define("Invoice", columns, { tableName: "invoices", timestamps: false });`,
    close: "await db.close();",
  },
  "MikroORM": {
    imports: `import { defineEntity, MikroORM, p } from "@mikro-orm/postgresql";`,
    open: `
      const properties = { id: p.integer().primary(), status: p.text() };
      const Invoice = defineEntity({ name: "Invoice", tableName: "invoices", properties });
      const db = await MikroORM.init({ entities: [Invoice], clientUrl: url, dbName: new URL(url).pathname.slice(1) });`,
    close: "await db.close();",
  },
};

/** The same block of Drizzle over postgres.js. */
export const DRIZZLE_OVER_POSTGRES_JS: OrmSetup = {
  imports: `import { drizzle as drizzleOverPostgresJs } from "drizzle-orm/postgres-js";
    import postgres from "postgres";`,
  open: `
    const sql = postgres(url, { onnotice: () => {} });
    const invoices = pgTable("invoices", { id: integer().primaryKey(), status: text() });
    const db = drizzleOverPostgresJs(sql);`,
  close: "await sql.end();",
};

/** What Prisma makes its client of. */
export const PRISMA_SCHEMA = `
generator client {
  provider = "prisma-client"
  output   = "./prisma"
  runtime  = "deno"
}
datasource db {
  provider = "postgresql"
}
model Invoice {
  id     Int    @id
  status String
  @@map("invoices")
}
`;
