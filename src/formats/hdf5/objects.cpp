#include "formats/hdf5/objects.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "formats/hdf5/sound_object.h"

namespace knng_hdf5 {
namespace {

// A group that contains itself ends there, too.
constexpr std::size_t kMostObjects = 10000;
constexpr std::size_t kDeepest = 32;
constexpr int kMostLinks = 16;  // libhdf5 follows as many

// Names of what lies in a group itself.
std::vector<std::string> members(const Id& group, const std::string& name) {
  struct Found {
    std::vector<std::string> names;
    bool no_memory = false;
  } found;
  const auto note = [](hid_t, const char* member, const H5L_info_t* link, void* data) -> herr_t {
    auto& to = *static_cast<Found*>(data);
    try {
      if (link->type == H5L_TYPE_HARD) to.names.emplace_back(member);
      return to.names.size() > kMostObjects ? 1 : 0;
    } catch (...) {
      to.no_memory = true;
      return -1;
    }
  };
  const herr_t result = ::H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, note, &found);
  if (found.no_memory) throw std::bad_alloc();
  checked(result, quoted(name) + " cannot be listed");
  return std::move(found.names);
}

// Where a soft link that lies at `path` leads to.
std::string target_of(hid_t file, const std::string& path, const H5L_info_t& link) {
  std::vector<char> value(link.u.val_size + 1);
  checked(::H5Lget_val(file, path.c_str(), value.data(), link.u.val_size, H5P_DEFAULT),
          quoted(path) + " cannot be looked up");
  const std::string target = value.data();
  return target.starts_with('/') ? target : path.substr(0, path.rfind('/') + 1) + target;
}

// links: soft ones that may still be on the way. What they lead through is looked at before libhdf5 follows them.
bool is_there(hid_t file, const std::string& path, const knng_formats_input& input, int links) {
  require_sound(file, "/", input);
  for (std::size_t end = path.find_first_not_of('/'); end != std::string::npos;) {
    end = path.find('/', end);
    const std::string part = path.substr(0, end);
    if (::H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0) return false;
    H5L_info_t link;
    checked(::H5Lget_info(file, part.c_str(), &link, H5P_DEFAULT), quoted(part) + " cannot be looked up");
    if (link.type != H5L_TYPE_HARD && link.type != H5L_TYPE_SOFT)
      fail(KNNG_ERR_UNSUPPORTED, "%s is a link into another file; give that file", quoted(part).c_str());
    if (link.type == H5L_TYPE_SOFT && (links == 0 || !is_there(file, target_of(file, part, link), input, links - 1)))
      return false;
    if (::H5Oexists_by_name(file, part.c_str(), H5P_DEFAULT) <= 0) return false;
    if (end == std::string::npos) break;
    require_sound(file, part, input);
    end = path.find_first_not_of('/', end);
  }
  return true;
}

}  // namespace

bool is_there(hid_t file, const std::string& path, const knng_formats_input& input) {
  return is_there(file, path, input, kMostLinks);
}

Id open_object(hid_t file, const std::string& path, const knng_formats_input& input) {
  require_sound(file, path, input);
  return owned(::H5Oopen(file, path.c_str(), H5P_DEFAULT), quoted(path) + " cannot be opened");
}

std::vector<std::string> find_objects(hid_t file, const knng_formats_input& input,
                                      const std::function<bool(const Id&)>& fits) {
  struct Place {
    std::string path;
    std::size_t depth;
  };
  std::vector<std::string> found;
  std::vector<Place> left{{"", 0}};  // the last one is next
  std::size_t seen = 0;
  while (!left.empty()) {
    const Place place = std::move(left.back());
    left.pop_back();
    const Id object = open_object(file, place.path.empty() ? "/" : place.path, input);
    if (!place.path.empty() && fits(object)) {
      found.push_back(place.path);
      continue;
    }
    if (::H5Iget_type(object.get()) != H5I_GROUP || place.depth == kDeepest) continue;
    std::vector<std::string> names = members(object, place.path);
    seen += names.size();
    if (seen > kMostObjects)
      fail(KNNG_ERR_UNSUPPORTED, "has more than %zu objects; name the data set, as in FILE.h5:PATH", kMostObjects);
    for (auto name = names.rbegin(); name != names.rend(); ++name)
      left.push_back({place.path.empty() ? *name : place.path + "/" + *name, place.depth + 1});
  }
  return found;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 100;
  if (names.empty()) return "none";
  std::string text;
  std::size_t told = 0;
  for (; told < names.size(); ++told) {
    if (told > 0 && text.size() + names[told].size() > kMost) break;
    text.append(told > 0 ? ", " : "").append(quoted(names[told]));
  }
  if (told < names.size()) text.append(", and ").append(std::to_string(names.size() - told)).append(" more");
  return text;
}

}  // namespace knng_hdf5
