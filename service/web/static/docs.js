// Owns the start of Swagger UI on the page of the HTTP API.

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null, // nothing is sent to anybody else
});
