import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.neo4j.configuration.GraphDatabaseInternalSettings;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.connectors.BoltConnectorInternalSettings;
import org.neo4j.configuration.connectors.ConnectorPortRegister;
import org.neo4j.configuration.connectors.ConnectorType;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;
import org.neo4j.graphdb.Result;
import org.neo4j.io.ByteUnit;
import org.neo4j.kernel.internal.GraphDatabaseAPI;

/**
 * Owns a real Neo4j on loopback for the tests: Bolt with a password, data in a directory of the caller's.
 *
 * <p>Arguments: the data directory and the Bolt port (0: a free one). The password of the user {@code neo4j} is in
 * the environment variable NEO4J_TEST_PASSWORD. Prints {@code READY <port>} once the password is set. Stops cleanly on
 * SIGTERM and when its standard input ends, so that it never outlives the tests that started it.
 */
public final class Neo4jServer {
    private Neo4jServer() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            System.err.println("usage: Neo4jServer DATA_DIRECTORY PORT");
            System.exit(2);
        }
        String password = System.getenv("NEO4J_TEST_PASSWORD");
        if (password == null || password.length() < 8) {
            System.err.println("NEO4J_TEST_PASSWORD must hold 8 characters or more");
            System.exit(2);
        }
        int port = Integer.parseInt(arguments[1]);
        DatabaseManagementService server =
                new DatabaseManagementServiceBuilder(Path.of(arguments[0]).toAbsolutePath())
                        .setConfig(GraphDatabaseSettings.auth_enabled, true)
                        .setConfig(GraphDatabaseSettings.pagecache_memory, ByteUnit.mebiBytes(64))
                        .setConfig(BoltConnector.enabled, true)
                        .setConfig(BoltConnector.listen_address, new SocketAddress("127.0.0.1", port))
                        .setConfig(BoltConnector.advertised_address, new SocketAddress("127.0.0.1", port))
                        // A test's server need not wait for clients that are gone.
                        .setConfig(GraphDatabaseInternalSettings.netty_server_shutdown_quiet_period, 0)
                        .setConfig(BoltConnectorInternalSettings.thread_pool_shutdown_wait_time, Duration.ofSeconds(1))
                        .setConfig(BoltConnectorInternalSettings.connection_shutdown_wait_time, Duration.ofSeconds(1))
                        .build();
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        try {
            GraphDatabaseAPI system = (GraphDatabaseAPI) server.database(GraphDatabaseSettings.SYSTEM_DATABASE_NAME);
            setFirstPassword(system, password);
            System.out.println("READY " + boltPort(system));
            System.out.flush();
            waitForEndOfInput();
        } catch (RuntimeException | IOException failure) {
            failure.printStackTrace();
            System.exit(1);
        }
        System.exit(0);
    }

    /** In-process access is not asked for a password, so the first one can be set from here; a later start keeps it. */
    private static void setFirstPassword(GraphDatabaseAPI system, String password) {
        boolean fresh = system.executeTransactionally(
                "SHOW USERS YIELD user, passwordChangeRequired WHERE user = 'neo4j' AND passwordChangeRequired",
                Map.of(),
                Result::hasNext);
        if (fresh) {
            system.executeTransactionally(
                    "ALTER USER neo4j SET PASSWORD $password CHANGE NOT REQUIRED", Map.of("password", password));
        }
    }

    private static int boltPort(GraphDatabaseAPI system) {
        return system.getDependencyResolver()
                .resolveDependency(ConnectorPortRegister.class)
                .getLocalAddress(ConnectorType.BOLT)
                .getPort();
    }

    private static void waitForEndOfInput() throws IOException {
        while (System.in.read() != -1) {
            // What is written to it means nothing; only its end does.
        }
    }
}
