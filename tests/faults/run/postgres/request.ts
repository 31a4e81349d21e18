/** A text that each request has which changes a document. */
export const REQUEST = 'UPDATE "public"."holdfast_locks" SET';
