import java.sql.*;
import java.util.*;

/** pgjdbc speaks to the service. Arguments: port, key. Prints lines of names and what was found. */
public class Clients {
  public static void main(String[] arguments) throws Exception {
    Properties properties = new Properties();
    properties.put("user", "analyst");
    properties.put("password", arguments[1]);
    properties.put("options", "-c sotto.epsilon=0.01 -c sotto.spending=allow");
    // From the second execution on, statements are prepared, and results are binary.
    properties.put("prepareThreshold", "2");
    String url = "jdbc:postgresql://127.0.0.1:" + arguments[0] + "/sotto";
    try (Connection connection = DriverManager.getConnection(url, properties)) {
      Set<String> answers = new LinkedHashSet<>();
      String groups = "SELECT \"Sex\", COUNT(*) AS n, AVG(\"Age\") FROM \"public\".\"census\" WHERE \"Age\" > ? GROUP BY 1 ORDER BY 1";
      try (PreparedStatement statement = connection.prepareStatement(groups)) {
        for (int run = 0; run < 8; run++) {
          statement.setInt(1, 30);
          StringBuilder rows = new StringBuilder();
          ResultSet found = statement.executeQuery();
          while (found.next()) rows.append(found.getString(1) + " " + found.getDouble(2) + " " + found.getDouble(3) + " ");
          answers.add(rows.toString().trim());
        }
      }
      System.out.println("answers=" + answers);
      connection.setAutoCommit(false);
      try (Statement statement = connection.createStatement()) {
        statement.setFetchSize(3);
        ResultSet found = statement.executeQuery("SELECT Sex, Married, COUNT(*) FROM census GROUP BY 1, 2");
        int rows = 0;
        while (found.next()) rows++;
        System.out.println("portions=" + rows);
        statement.executeQuery("SELECT nope FROM census");
      } catch (SQLException refused) {
        System.out.println("refused=" + refused.getSQLState());
        connection.rollback();
      }
      connection.setAutoCommit(true);
      DatabaseMetaData metadata = connection.getMetaData();
      System.out.println("tables=" + list(metadata.getTables(null, "public", "%", new String[] {"TABLE"}), "TABLE_NAME", "REMARKS"));
      System.out.println("columns=" + list(metadata.getColumns(null, "public", "census", "%"), "COLUMN_NAME", "TYPE_NAME"));
      System.out.println("schemas=" + list(metadata.getSchemas(), "TABLE_SCHEM"));
      System.out.println("keys=" + list(metadata.getPrimaryKeys(null, "public", "census"), "COLUMN_NAME")
          + list(metadata.getImportedKeys(null, "public", "census"), "FKCOLUMN_NAME")
          + list(metadata.getIndexInfo(null, "public", "census", false, false), "INDEX_NAME"));
      metadata.getTypeInfo();
      metadata.getFunctions(null, null, "%");
      metadata.getUDTs(null, null, "%", null);
      metadata.getTablePrivileges(null, null, "%");
      metadata.getVersionColumns(null, "public", "census");
      metadata.getProcedures(null, null, "%");
      metadata.getProcedureColumns(null, null, "%", "%");
      metadata.getFunctionColumns(null, null, "%", "%");
      metadata.getBestRowIdentifier(null, "public", "census", DatabaseMetaData.bestRowSession, true);
      metadata.getExportedKeys(null, "public", "census");
      metadata.getCrossReference(null, "public", "census", null, "public", "calendar");
      metadata.getTableTypes();
      metadata.getSQLKeywords();
      metadata.getMaxColumnNameLength();
      metadata.getClientInfoProperties();
      System.out.println("privileges=" + list(metadata.getTablePrivileges(null, "public", "calendar"), "GRANTEE", "PRIVILEGE"));
      metadata.getColumnPrivileges(null, "public", "calendar", "%");
      System.out.println("catalogs=" + list(metadata.getCatalogs(), "TABLE_CAT"));
      System.out.println("done=" + metadata.getDatabaseProductName());
    }
  }

  private static List<String> list(ResultSet rows, String... names) throws SQLException {
    List<String> found = new ArrayList<>();
    while (rows.next()) for (String name : names) found.add(rows.getString(name));
    return found;
  }
}
