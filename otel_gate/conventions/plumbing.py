"""Instrumentations of what an agent stands on: they are known, and none of their spans is a tool call by its scope.

A note about an unknown scope says that tools may run unseen. It would be said of every agent that calls a web service,
if these were not known. A span of theirs that carries the mark of a convention is read as any other. Names are listed
one by one where what begins alike could be an agent's.
"""

from __future__ import annotations

from otel_gate.conventions.meaning import Convention, says_nothing

PYTHON = tuple(
    f"opentelemetry.instrumentation.{name}"
    for name in (
        "aio_pika", "aiohttp_client", "aiohttp_server", "aiokafka", "aiopg", "asgi", "asyncclick", "asyncio", "asyncpg",
        "aws_lambda", "boto", "boto3sqs", "botocore", "cassandra", "celery", "click", "confluent_kafka", "dbapi",
        "django", "elasticsearch", "falcon", "fastapi", "flask", "grpc", "httpx", "jinja2", "kafka", "logging",
        "mysql", "mysqlclient", "pika", "psycopg", "psycopg2", "pymemcache", "pymongo", "pymssql", "pymysql", "pyramid",
        "redis", "remoulade", "requests", "sqlalchemy", "sqlite3", "starlette", "system_metrics", "threading",
        "tornado", "tortoiseorm", "urllib", "urllib3", "wsgi",
    )
)  # fmt: skip
MODELS = tuple(
    f"{by}.instrumentation.{name}"
    for by in ("opentelemetry", "openinference")
    for name in (
        "alephalpha", "anthropic", "bedrock", "cohere", "google_genai", "google_generativeai", "groq", "litellm",
        "mistralai", "ollama", "openai", "openai.*", "openai_v2", "replicate", "sagemaker", "together", "transformers",
        "vertexai", "voyageai", "watsonx", "writer",
    )
)  # fmt: skip
VECTOR_STORES = tuple(
    f"opentelemetry.instrumentation.{name}"
    for name in ("chromadb", "lancedb", "marqo", "milvus", "pinecone", "qdrant", "weaviate")
)
OTHER_PYTHON = (
    "azure.core.*", "azure.cosmos*", "azure.identity*", "azure.storage.*", "elastic-transport",
    "google.cloud.bigquery*", "google.cloud.firestore*", "google.cloud.pubsub*", "google.cloud.spanner*",
    "google.cloud.storage*", "grpc",
)  # fmt: skip
JAVASCRIPT = (
    *(
        f"@opentelemetry/instrumentation-{name}"
        for name in (
            "amqplib", "aws-lambda", "aws-sdk", "bunyan", "cassandra-driver", "connect", "dataloader", "dns",
            "document-load", "express", "fastify", "fetch", "fs", "generic-pool", "graphql", "grpc", "hapi", "http",
            "ioredis", "kafkajs", "knex", "koa", "long-task", "lru-memoizer", "memcached", "mongodb", "mongoose",
            "mysql", "mysql2", "nestjs-core", "net", "oracledb", "pg", "pino", "redis", "redis-4", "restify", "router",
            "runtime-node", "socket.io", "tedious", "undici", "user-interaction", "winston", "xml-http-request",
        )
    ),
    "@azure/core-*", "@azure/storage-*", "@fastify/otel", "@prisma/instrumentation", "@vercel/otel/fetch", "next.js",
    "prisma",
)  # fmt: skip
GO = ("go.opentelemetry.io/contrib/instrumentation/*", "go.opentelemetry.io/auto/*")
JAVA = tuple(
    f"io.opentelemetry.{name}"
    for name in (
        "akka-*", "apache-*", "armeria-*", "async-http-client-*", "aws-sdk-*", "cassandra-*", "dropwizard-*",
        "elasticsearch-*", "grpc-*", "hibernate-*", "http-url-connection", "java-http-*", "jaxrs-*", "jdbc", "jedis-*",
        "jetty-*", "jms-*", "kafka-*", "ktor-*", "lettuce-*", "mongo-*", "netty-*", "okhttp-*", "pekko-*", "r2dbc-*",
        "rabbitmq-*", "reactor-*", "redisson-*", "servlet-*", "spring-jms-*", "spring-kafka-*", "spring-scheduling-*",
        "spring-web*", "tomcat-*", "undertow-*", "vertx-*",
    )
)  # fmt: skip
DOTNET = (
    "Azure.Core*", "Azure.Storage*", "Experimental.System.Net.*", "Microsoft.AspNetCore*", "Npgsql",
    "Microsoft.EntityFrameworkCore*", "OpenTelemetry.Instrumentation.*", "System.Net.*",
)  # fmt: skip
MESH = ("envoy", "nginx", "github.com/traefik/*")
SCOPES = (*PYTHON, *MODELS, *VECTOR_STORES, *OTHER_PYTHON, *JAVASCRIPT, *GO, *JAVA, *DOTNET, *MESH)

CONVENTIONS = (Convention("plumbing", says_nothing, SCOPES),)
